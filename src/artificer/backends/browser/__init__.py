"""Tools that act in a browser."""
