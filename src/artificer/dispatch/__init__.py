"""Executing runs that other processes submitted: segments, dispatchers, the sweeper, the worker."""
