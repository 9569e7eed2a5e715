"""A run as a card in a notebook: self-contained, without script, apart from the notebook's page."""

from __future__ import annotations

from artificer.render.text import escape, one_line
from artificer.values.model import Usage

_CARD = "border:1px solid #8886;border-radius:6px;padding:.6em .8em;max-width:60em"
_HEIGHT = 480


def run_card(
    run: str, status: str, cost: str | None, usage: Usage, body: str, is_page: bool
) -> str:
    """Return the card: a line of facts, then the report's page, or the text so far.

    The page is in an ``iframe`` whose sandbox allows nothing: no script, no form, no navigation,
    and an origin of its own. Everything is escaped.
    """
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    facts = " · ".join(escape(one_line(fact)) for fact in (run, status, tokens, cost) if fact)
    if is_page:
        shown = (
            f'<iframe sandbox="" referrerpolicy="no-referrer" srcdoc="{escape(body)}" '
            f'style="width:100%;height:{_HEIGHT}px;border:0" title="{escape(run)}"></iframe>'
        )
    else:
        shown = f'<pre style="white-space:pre-wrap">{escape(body)}</pre>' if body else ""
    return f'<div style="{_CARD}"><div><small>{facts}</small></div>{shown}</div>'
