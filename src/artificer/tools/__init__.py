"""Executors: what performs an approved call. One file per kind of tool."""
