"""Commands for exported runs."""
