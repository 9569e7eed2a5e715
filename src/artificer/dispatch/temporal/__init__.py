"""Runs dispatched by Temporal, which knows only their ids and causes."""
