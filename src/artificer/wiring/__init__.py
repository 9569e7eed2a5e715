"""The only room that knows every adapter: from configuration to a runtime that works."""
