"""Drawings: parsed, checked against an allow-list and rebuilt."""
