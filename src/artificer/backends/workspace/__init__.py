"""Workspaces: named trees of files, kept version by version in the store of blobs."""
