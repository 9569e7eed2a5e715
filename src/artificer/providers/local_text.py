"""The grammar of a small model's final text, which has to cite its artifacts.

A 135M model that is instructed to copy a placeholder writes something similar, or forgets it: one
text in eight cited correctly. Like the grammar of a tool call, this grammar enforces the form: one
or two sentences of the model's own before each placeholder that a result named.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from artificer.artifacts.placeholder import find, placeholder
from artificer.values.blocks import Message, ToolResultBlock

MAX_CITED = 8

_SENTENCES = r"""
paragraph ::= sentence (" " sentence)?
sentence ::= [A-Z] [^{}.!?\n\r\t]{15,160} "."
"""


def closing_grammar(messages: Sequence[Message]) -> str | None:
    """Return the GBNF grammar of a text that cites the placeholders in successful results.

    None if there is nothing to cite. Only the first MAX_CITED placeholders are required, because
    the reply's length is bounded.
    """
    named = dict.fromkeys(
        placeholder(cited.kind, cited.id)
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock) and block.status == "ok"
        for cited in find(block.content)
    )
    if not named:
        return None
    parts = [rf'paragraph "\n\n" {json.dumps(code)}' for code in list(named)[:MAX_CITED]]
    return "root ::= " + r' "\n\n" '.join(parts) + _SENTENCES
