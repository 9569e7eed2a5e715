"""Who owns a run: proven by locks of the operating system, promised to other machines by leases."""
