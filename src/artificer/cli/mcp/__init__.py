"""The command ``mcp``: a server of tools."""
