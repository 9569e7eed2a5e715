"""The tools that make and withdraw artifacts."""
