"""Commands that start runs and continue them."""
