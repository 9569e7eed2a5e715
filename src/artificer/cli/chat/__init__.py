"""``artificer chat``: a conversation in the terminal."""
