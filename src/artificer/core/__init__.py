"""Pure: the state machine of a run. Events go in; the next state and intents come out."""
