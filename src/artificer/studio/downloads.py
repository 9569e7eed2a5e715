"""The links to the files of a run."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from artificer.artifacts.build_catalog import is_build_tool
from artificer.artifacts.ref import MadeKind
from artificer.render.export.forms import REPORT_FORMS
from artificer.runs import Run

_PICTURE = ("csv", "xlsx", "svg", "png", "json")
_ROWS = ("csv", "xlsx", "json")
FORMS: dict[MadeKind, tuple[str, ...]] = {
    "chart": _PICTURE,
    "table": _ROWS,
    "list": _ROWS,
    "checklist": _ROWS,
    "svg": ("svg", "png", "json"),
    "file": ("txt", "json"),
    "value": _ROWS,
}
"""The forms of each kind of artifact."""

Links = list[tuple[str, str]]


def downloads_of(run: Run[Any]) -> list[tuple[str, Links]]:
    """Return the names of what can be downloaded, each with its forms and links."""
    base, found = f"/runs/{quote(run.id, safe='')}", list[tuple[str, Links]]()
    if run.state.deliverable is not None:
        found.append(("Report", [(form, f"{base}/export/{form}") for form in REPORT_FORMS]))
    for ref in run.state.artifacts:
        if not is_build_tool(ref.tool):
            key = quote(f"{ref.kind}:{ref.id}", safe="")
            links = [(form, f"{base}/artifacts/{key}/{form}") for form in FORMS[ref.kind]]
            found.append((ref.title or ref.id, links))
    return found
