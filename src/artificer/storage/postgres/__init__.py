"""A world in PostgreSQL: for any number of processes on any number of machines.

What a run's chain covers is committed as it is in SQLite. The chain over the whole world is made
afterwards, so that runs do not wait for each other: see ``chaining``.
"""
