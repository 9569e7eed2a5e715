"""Browser tools: the calls they take and the envelopes they give."""
