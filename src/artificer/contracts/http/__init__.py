"""HTTP tools: the request of a call, and the envelope of its response."""
