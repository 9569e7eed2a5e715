"""Tools of other MCP servers: their definitions and envelopes."""
