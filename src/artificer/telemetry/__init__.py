"""OpenTelemetry: what is recorded of a run, as spans and metrics of the GenAI conventions."""
