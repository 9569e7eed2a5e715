"""Adapters to models. A provider's quirk never leaves its file.

``openai_chat``, ``openai_responses`` and ``anthropic`` each map one protocol; ``chat_wire`` is the
pure half of Chat Completions, ``attempts`` the one owner of retries.
"""
