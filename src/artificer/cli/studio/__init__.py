"""``artificer studio``: a world in the browser."""
