"""The links to the files of a run."""

from __future__ import annotations

from typing import Any, NamedTuple
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

RECORDING = "run.gz"
"""The form of a run as a file that replays anywhere."""

Links = list[tuple[str, str]]


class Download(NamedTuple):
    """Something that can be downloaded: its page, and its forms with their links."""

    name: str
    kind: str
    page: str
    links: Links


def downloads_of(run: Run[Any]) -> list[Download]:
    """Return what can be downloaded of a run: its report, its artifacts, and the whole of it."""
    found = []
    if links := report_forms(run):
        page = f"/runs/{quote(run.id, safe='')}/artifacts/report"
        found.append(Download("The report", "report", page, links))
    for ref in run.state.artifacts:
        if forms := artifact_forms(ref.kind, ref.tool):
            page = artifact_path(run.id, f"{ref.kind}:{ref.id}")
            links = [(form, f"{page}/{form}") for form in forms]
            found.append(Download(ref.title or ref.id, ref.kind, page, links))
    base = f"/runs/{quote(run.id, safe='')}"
    link = (RECORDING, f"{base}/export/{RECORDING}")
    found.append(Download("The whole run", "recording", f"{base}/records", [link]))
    return found


def report_forms(run: Run[Any]) -> Links:
    """Return the forms of a run's report with their links; none before there is one."""
    if run.state.deliverable is None:
        return []
    base = f"/runs/{quote(run.id, safe='')}"
    return [(form, f"{base}/export/{form}") for form in REPORT_FORMS]


def artifact_forms(kind: MadeKind, tool: str) -> tuple[str, ...]:
    """Return the forms of an artifact; none for one of a build."""
    return () if is_build_tool(tool) else FORMS[kind]


def artifact_path(run: str, name: str) -> str:
    """Return the address of an artifact's page, by its ``kind:id``."""
    return f"/runs/{quote(run, safe='')}/artifacts/{quote(name, safe='')}"
