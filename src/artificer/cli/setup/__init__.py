"""Commands that check and prepare the machine."""
