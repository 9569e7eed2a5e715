"""Tools that are HTTP requests."""
