"""Pure values: canonical JSON, digests, blocks, messages, usage, requests and replies.

Values are frozen, carry no identity and do no I/O.
"""
