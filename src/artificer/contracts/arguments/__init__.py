"""Arguments: their fifteen types, checking what an author wrote, binding a call to them."""
