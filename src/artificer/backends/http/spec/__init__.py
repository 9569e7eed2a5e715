"""``[http]`` as declared: keys, templates, requests and envelopes."""
