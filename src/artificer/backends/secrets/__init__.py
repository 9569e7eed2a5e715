"""Finding secrets in text, and redacting them."""
