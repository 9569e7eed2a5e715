"""Manifests: reading them, all faults at once, and what they come to."""
