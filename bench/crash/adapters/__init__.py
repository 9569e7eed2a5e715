"""A file for each runtime: how its own documentation says to run, resume and approve."""
