"""Adapters to models. The quirks of a provider stay in its own files.

``anthropic``, ``openai_chat`` and ``openai_responses`` are thin adapters over the official SDKs.
The pure halves of each protocol have their own files: ``*_wire`` maps requests, ``*_stream``
assembles replies. ``attempts`` owns retries and timeouts for all of them.
"""
