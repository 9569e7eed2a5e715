"""``[mcp]`` as declared: keys, remote tools and envelopes."""
