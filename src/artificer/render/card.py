"""A run as a card in a notebook: self-contained, without script, apart from the notebook's page."""

from __future__ import annotations

from artificer.render.template import filled
from artificer.render.text import one_line
from artificer.values.model import Usage


def run_card(
    run: str, status: str, cost: str | None, usage: Usage, body: str, is_page: bool
) -> str:
    """Return the card: a line of facts, then the report's page, or the text so far.

    The page is in an ``iframe`` whose sandbox allows nothing: no script, no form, no navigation,
    and its own origin.
    """
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    facts = [one_line(fact) for fact in (run, status, tokens, cost) if fact]
    return str(filled("card", facts=facts, is_page=is_page, body=str(body), title=run))
