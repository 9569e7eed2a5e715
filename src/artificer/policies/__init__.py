"""Policies as people write them: the section of ``artificer.toml``, and files of Cedar policies."""
