"""Keys: what each section of a manifest file may say."""
