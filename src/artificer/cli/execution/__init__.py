"""Executing a run for the person at the command line: progress, decisions, the outcome."""
