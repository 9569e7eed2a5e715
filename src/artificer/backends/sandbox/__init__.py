"""Sandboxes: what holds a program to the files and the network that it may use."""
