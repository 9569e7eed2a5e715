"""The grammar of a small model's closing text, which has to cite what the model made.

A 135M model that is told to copy a placeholder writes something like it, or forgets it: one text
in eight cited correctly. As the grammar of a tool call holds its form, this one holds that of the
text: before each placeholder that a result named stand one or two sentences, and the words of
those are the model's own.
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

    None where there is nothing to cite: such a text is free. Only the first MAX_CITED are asked
    for, because the reply's length is bounded.
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
