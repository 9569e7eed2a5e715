"""Runs as files: export, import, and running them again as tests."""
