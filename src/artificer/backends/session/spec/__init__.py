"""``[session]`` as declared: keys, commands, lines, prompts and envelopes."""
