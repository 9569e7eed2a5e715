"""OpenTelemetry: recorded runs as spans and metrics of the GenAI conventions."""
