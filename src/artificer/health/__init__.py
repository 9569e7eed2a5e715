"""The health of a process that executes runs, and its metrics: for probes and for Prometheus."""
