"""Pure: bindings, which take the numbers and rows of an artifact from a recorded tool result."""
