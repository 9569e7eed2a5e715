"""Shared by commands: opening the world, following a run, and its outcome."""
