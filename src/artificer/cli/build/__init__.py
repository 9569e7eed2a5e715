"""The command ``build``."""
