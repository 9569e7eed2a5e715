"""Declarations of commands: names, options, help. Nothing here imports the runtime."""
