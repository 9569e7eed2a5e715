"""The machine: its clock, files, certificates and names, and the tasks of its event loops."""
