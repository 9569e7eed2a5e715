"""Requests to a model: how they are made, sent, tried again and compacted."""
