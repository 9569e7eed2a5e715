"""Runs for workers over HTTP: the queue, its leases, and what a worker may access."""
