"""Commands that check and maintain a world."""
