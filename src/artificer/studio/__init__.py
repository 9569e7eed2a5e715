"""The studio: a world in the browser. Watch runs, decide, look back."""
