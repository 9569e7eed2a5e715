"""``[command]`` as declared: keys, argument vectors and envelopes."""
