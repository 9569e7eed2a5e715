"""The command ``artificer worker``."""
