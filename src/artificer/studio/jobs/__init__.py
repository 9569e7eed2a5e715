"""Runs for workers that only have HTTP: the queue, its leases, and what a worker may touch."""
