"""The commands below ``artificer workspace``."""
