"""The machine: its clock, files and certificates, and work that a cancellation lets finish."""
