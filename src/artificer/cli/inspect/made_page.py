"""``artificer show --html``: the report, and next to it a page on how it was made."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from markupsafe import Markup

from artificer.cli.inspect.timeline import Entry
from artificer.render.stylesheet import stylesheet
from artificer.render.template import filled
from artificer.render.text import one_line
from artificer.report import write_files
from artificer.runs import Run

REPORT = "report.html"
MADE = "made.html"
_REFUSALS = (": invalid", ": unknown_tool", ": denied", ": duplicate", "invalid ·", "sent back")


def write_pages(
    run: Run, facts: Sequence[tuple[str, str]], entries: Iterable[Entry], begun: int, folder: Path
) -> Path:
    """Write the report, if there is one, and the page on how it was made. Return the latter."""
    finished = run.deliverable is not None
    if finished:
        run.save(folder, made=MADE)
    page = filled(
        "made",
        title=one_line(run.state.run_spec.prompt),
        report=REPORT if finished else "",
        style=Markup(stylesheet("made.css")),
        style_digest=base64.b64encode(
            hashlib.sha256(stylesheet("made.css").encode()).digest()
        ).decode(),
        facts=tuple(facts),
        turns=_turns(entries, begun),
        run=run.id,
    )
    return write_files(folder, {MADE: str(page).encode()})[0]


def _turns(entries: Iterable[Entry], begun: int) -> list[dict[str, object]]:
    """Return the records, turn by turn."""
    turns: list[dict[str, object]] = []
    rows: list[dict[str, object]] = []
    for entry in entries:
        if entry.turn is not None or not turns:
            rows = []
            name = "Beginning" if entry.turn is None else f"Turn {entry.turn}"
            turns.append({"name": name, "entries": rows})
        texts = (entry.summary, *entry.details)
        rows.append(
            {
                "seq": entry.seq,
                "at": entry.at,
                "since": "" if entry.at is None else f"+{(entry.at - begun) / 1000:.3f} s",
                "name": entry.name,
                "summary": entry.summary,
                "details": entry.details,
                "refused": any(word in text for text in texts for word in _REFUSALS),
            }
        )
    return turns
