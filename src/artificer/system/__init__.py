"""The machine: its clock, files and certificates, and work that outlasts a cancellation."""
