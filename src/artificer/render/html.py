"""A report as one self-contained HTML file: no script, nothing fetched, readable by anyone.

The content security policy forbids everything the file does not need, so that even a mistake in
the markup cannot run or fetch anything: styles only by the hash of its own, images only as data.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache

from markupsafe import Markup

from artificer.render.attachments import attachments_html
from artificer.render.figures import artifact_html
from artificer.render.message import message_html
from artificer.render.narrative import Citation, Key, Passage
from artificer.render.prose import passage_html
from artificer.render.report import ArtifactName, Report
from artificer.render.stylesheet import stylesheet
from artificer.render.template import filled, macro
from artificer.render.text import one_line

_CONTENTS_FROM = 5
"""A report with this many headings has a table of contents."""


def to_html(report: Report) -> str:
    """Return the whole page. The same report gives the same bytes."""
    return str(
        filled(
            "page",
            ui=report.language,
            title=one_line(report.title),
            style=Markup(stylesheet("report.css")),
            style_digest=_style_digest(),
            heading=_heading(report),
            dateline=_dateline(report),
            banner=_banner(report),
            body=tuple(_Body(report).blocks()),
            facts=_facts(report),
            run=report.provenance.run,
            made=report.made,
            has_details=any(kind in ("chart", "file") for kind, _ in report.artifacts),
        )
    )


class _Body:
    """The blocks of one page."""

    def __init__(self, report: Report) -> None:
        self._report, self._ui = report, report.language

    def blocks(self) -> Iterator[Markup]:
        """Yield the message, the narrative with its cited artifacts, and everything else."""
        if message := self._report.deliverable.message:
            yield message_html(message, self._inline, self._ui)
        sections = self._report.sections
        titled = [s for s in sections.values() if s.title]
        if len(titled) >= _CONTENTS_FROM:
            yield filled("contents", ui=self._ui, sections=titled)
        for index, passage in enumerate(self._report.body):
            here = self._report.stands_at(index)
            if passage.on_own_line:
                yield from self._in_place(passage, here)
            else:
                section = sections[index].id if index in sections else ""
                yield passage_html(passage, self._inline, self._ui, section=section)
                yield from map(self._artifact, here)
        if self._report.uncited and self._report.body:
            yield Markup("<h2>{}</h2>").format(self._ui.say("also"))
        for key in self._report.uncited:
            yield self._artifact(key)
        if values := self._report.values:
            yield filled("values", ui=self._ui, values=values)
        if self._report.bound:
            yield macro("parts", "sourced", self._ui, self._ui.say("note_words"))
        if attached := attachments_html(self._report.attached):
            yield attached

    def _name(self, citation: Citation) -> ArtifactName | None:
        return self._report.names.get(citation.key) if citation.key else None

    def _inline(self, citation: Citation) -> Markup:
        return macro("citation", "link", self._ui, citation, self._name(citation))

    def _artifact(self, key: Key) -> Markup:
        return artifact_html(self._report.artifacts[key], self._report.names[key], self._ui)

    def _in_place(self, passage: Passage, here: tuple[Key, ...]) -> Iterator[Markup]:
        """Yield the replacements of placeholders that have their own line."""
        placed: set[Key] = set()
        for citation in passage.citations:
            name = self._name(citation)
            if name is None:
                yield macro("citation", "absent", self._ui, citation)
            elif name.key in here and name.key not in placed:
                placed.add(name.key)
                yield self._artifact(name.key)
            else:
                yield macro("citation", "see", self._ui, citation, name)


def _heading(report: Report) -> Markup | None:
    found = report.heading
    return passage_html(found, lambda _: Markup(""), report.language, top=True) if found else None


def _dateline(report: Report) -> tuple[str, ...]:
    source = report.provenance
    return tuple(filter(None, (source.created[:10], source.model, source.usage)))


def _banner(report: Report) -> dict[str, object] | None:
    """Return the status banner: that the report is not finished, or incomplete, and why."""
    deliverable = report.deliverable
    if deliverable.status == "completed":
        return None
    return {
        "words": report.language.say("forming" if report.forming else deliverable.status),
        "mild": deliverable.status == "partial",
        "note": deliverable.note,
        "shortcomings": report.shortcomings,
    }


def _facts(report: Report) -> dict[str, str]:
    source = report.provenance
    return {
        "run": source.run,
        "kind": source.kind,
        "model": source.model,
        "made": source.created,
        "used": source.usage,
        "digest": source.digest,
    }


@cache
def _style_digest() -> str:
    return base64.b64encode(hashlib.sha256(stylesheet("report.css").encode()).digest()).decode()
