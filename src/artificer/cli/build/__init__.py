"""The commands below ``artificer build``."""
