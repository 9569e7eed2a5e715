"""The edge: record, then perform; recover; replay."""
