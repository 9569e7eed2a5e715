"""Command tools: the argv of a call, and what becomes of its output."""
