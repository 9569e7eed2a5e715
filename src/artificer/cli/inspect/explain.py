"""``artificer explain``: the status of a run, its cause, and the next steps."""

from __future__ import annotations

from msgspec import to_builtins

from artificer.cli.commands.inspect import ExplainOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import cost, count, joined, tokens
from artificer.runtime.explaining.explanation import SHOWN, Explanation, Refusal

WIDTH = 160
"""Characters of one line."""


async def explain(settings: Settings, options: ExplainOptions) -> Exit:
    """Print the status of a run, its cause and the next steps."""
    async with opened_archive(settings) as archive:
        found = await archive.explain(await archive.find(options.run))
    if options.as_json:
        origin = found.origin and found.origin.to_json()
        usage = found.usage.to_json()
        out_json({**to_builtins(found), "origin": origin, "usage": usage})
        return Exit.OK
    for label, text in _lines(found):
        out(f"{label:<8} {text}".rstrip())
    return Exit.OK


def _lines(found: Explanation) -> list[tuple[str, str]]:
    turn = "" if found.kind == "build" else f"turn {found.turn} of at most {found.turn_limit}"
    stands = "queued" if found.queued else found.stands
    lines = [
        ("run", found.run),
        ("status", joined(stands, turn, count(found.records, "record"))),
        ("why", one_line(found.why, 2 * WIDTH)),
    ]
    if found.origin:
        origin = found.origin
        lines.append(("forked", joined(f"from {origin.run}, record {origin.seq}", *origin.changed)))
    lines += _some("pending", [one_line(what, WIDTH) for what in found.pending])
    calls = joined(*(f"{n} {status}" for status, n in found.answers.items()))
    lines.append(("calls", calls or "none"))
    lines += _some("refused", [one_line(_refusal(r), WIDTH) for r in found.refused])
    if found.bound:
        lines += _some("bound", [f"{made} to {label}" for made, label in found.bound.items()])
    lines.append(("cost", joined(cost(found.cost_micros), tokens(found.usage))))
    return [*lines, *_some("next", list(found.next))]


def _some(label: str, texts: list[str]) -> list[tuple[str, str]]:
    """One line for each of the first few; the label stands once."""
    shown = texts[:SHOWN] or ["nothing"]
    if len(texts) > SHOWN:
        shown.append(f"and {len(texts) - SHOWN} more")
    return [(label if number == 0 else "", text) for number, text in enumerate(shown)]


def _refusal(refusal: Refusal) -> str:
    rule = f" by {refusal.rule}" if refusal.rule else ""
    numbers = list(dict.fromkeys(refusal.turns))
    turns = ", ".join(map(str, numbers[:SHOWN]))
    more = "" if len(numbers) <= SHOWN else ", …"
    why = f": {refusal.reason}" if refusal.reason else ""
    return f"{refusal.tool}: {refusal.verdict}{rule} (turn {turns}{more}){why}"
