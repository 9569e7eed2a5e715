"""The studio: a world in the browser. Watch runs form, decide, look back."""
