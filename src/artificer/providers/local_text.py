"""The grammar of a small model's final text, which has to cite its artifacts.

A 135M model that is instructed to copy a placeholder writes something similar, or forgets it: one
text in eight cited correctly. Like the grammar of a tool call, this grammar enforces the form: one
or two sentences of the model's own before each placeholder that a result named.

The author of an agent may give the prose a grammar: rules without a ``root``, in the member
``grammar`` of the extra body. ``about-KIND-ID`` is what precedes that artifact's placeholder, and
``opening`` and ``closing`` are what begins and ends the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import groupby

from artificer.artifacts.placeholder import Placeholder, find, placeholder
from artificer.values.blocks import Message, ToolResultBlock

MAX_CITED = 8

_SENTENCES = r"""
paragraph ::= sentence (" " sentence)?
sentence ::= [A-Z] [^{}.!?\n\r\t]{15,160} "."
"""
_CITED = r"""
cited ::= [A-Z] [a-z ]{3,40} ":"
"""
_RULE = re.compile(r"^[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*::=", re.MULTILINE)


def rules_of(grammar: str) -> frozenset[str]:
    """Return the names of the rules that a GBNF grammar defines."""
    return frozenset(_RULE.findall(grammar))


def closing_grammar(messages: Sequence[Message], prose: str = "") -> str | None:
    """Return the GBNF grammar of a text that cites the placeholders in successful results.

    None if there is nothing to cite. Only the first MAX_CITED placeholders are required, because
    the reply's length is bounded. ``prose`` are rules of the author's.
    """
    named = {
        (cited.kind, cited.id): cited
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock) and block.status == "ok"
        for cited in find(block.content)
    }
    if not named and not prose:
        return None
    rules = rules_of(prose)
    parts = [name for name in ("opening",) if name in rules]
    for inline, run in groupby([*named.values()][:MAX_CITED], lambda it: it.kind == "value"):
        group = [*run]
        parts += [_values(group, rules)] if inline else [_figure(cited, rules) for cited in group]
    parts += [name for name in ("closing",) if name in rules]
    root = "root ::= " + r' "\n\n" '.join(parts or ["paragraph"])
    ours = {"paragraph": _SENTENCES, "cited": _CITED if " cited " in f"{root} " else ""}
    return "\n".join([root + "".join(ours[n] for n in ours if n not in rules), prose]).rstrip("\n")


def _figure(cited: Placeholder, rules: frozenset[str]) -> str:
    return rf'{_about(cited, rules, "paragraph")} "\n\n" {_code(cited)}'


def _values(run: Sequence[Placeholder], rules: frozenset[str]) -> str:
    """Return a paragraph of values, each behind its own words."""
    return ' " " '.join(f'{_about(it, rules, "cited")} " " {_code(it)} "."' for it in run)


def _about(cited: Placeholder, rules: frozenset[str], otherwise: str) -> str:
    own = f"about-{cited.kind}-{cited.id}"
    return own if own in rules else otherwise


def _code(cited: Placeholder) -> str:
    return json.dumps(placeholder(cited.kind, cited.id))
