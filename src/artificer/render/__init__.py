"""Deliverables for people: pages, Markdown, charts and files."""
