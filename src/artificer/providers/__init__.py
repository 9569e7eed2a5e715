"""Adapters to models. A provider's quirk never leaves its files.

``anthropic``, ``openai_chat`` and ``openai_responses`` are thin adapters over the official SDKs.
Beside each stand the pure halves of its protocol: ``*_wire`` maps requests, ``*_stream``
assembles replies. ``attempts`` owns retries and timeouts for all of them.
"""
