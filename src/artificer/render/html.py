"""A report as one self-contained HTML file: no script, nothing fetched, readable by anyone.

The content security policy forbids everything the file does not need, so that even a mistake in
the markup cannot run or fetch anything: styles only by the hash of report.css, images only as data.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache

from artificer import render
from artificer.files import packaged
from artificer.render.attachments import attachments_html
from artificer.render.figures import artifact_html
from artificer.render.message import message_html
from artificer.render.narrative import Citation, Key
from artificer.render.prose import passage_html
from artificer.render.report import STATUS_WORDS, ArtifactName, Report
from artificer.render.text import escape, one_line


def to_html(report: Report) -> str:
    """Return the whole page. The same report gives the same bytes."""
    style = _style()
    if report.heading:
        title = passage_html(report.heading, lambda _: "", top=True)
    else:
        title = f'<h1 dir="auto">{escape(one_line(report.title))}</h1>'
    page = _Body(report)
    body = "\n".join(
        (
            title,
            _dateline(report),
            _banner(report),
            *page.blocks(),
            *filter(None, (attachments_html(report.attached),)),
        )
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="generator" content="Artificer">\n'
        f"<title>{escape(one_line(report.title))}</title>\n<style>{style}</style>\n</head>\n"
        f'<body>\n<main class="page">\n{body}\n{_footer(report)}\n</main>\n</body>\n</html>\n'
    )


class _Body:
    """The blocks of one page, and which artifacts have been placed so far."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._placed: set[Key] = set()

    def blocks(self) -> Iterator[str]:
        """Yield the message, the narrative with its cited artifacts, and the other artifacts."""
        if message := self._report.deliverable.message:
            yield message_html(message, self._inline)
        for passage in self._report.body:
            if not passage.on_own_line:
                yield passage_html(passage, self._inline)
            for citation in passage.citations:
                yield self._block(citation, on_own_line=passage.on_own_line)
        if self._report.uncited and self._report.body:
            yield "<h2>Also made</h2>"
        for key in self._report.uncited:
            yield artifact_html(self._report.artifacts[key], self._report.names[key])

    def _name(self, citation: Citation) -> ArtifactName | None:
        return self._report.names.get(citation.key) if citation.key else None

    def _inline(self, citation: Citation) -> str:
        name = self._name(citation)
        if name is None:
            return f'<mark class="missing">{_complaint(citation)}</mark>'
        return f'<a href="#{name.anchor}"><bdi>{escape(name.short)}</bdi></a>'

    def _block(self, citation: Citation, *, on_own_line: bool) -> str:
        """Return the artifact at its first citation; a link or a note at any other."""
        name = self._name(citation)
        if name is None:
            card = f'<p class="missing" role="note">{_complaint(citation)}</p>'
            return card if on_own_line else ""
        if name.key in self._placed:
            return f"<p>See {self._inline(citation)} above.</p>" if on_own_line else ""
        self._placed.add(name.key)
        return artifact_html(self._report.artifacts[name.key], name)


def _complaint(citation: Citation) -> str:
    """Return the fault of a citation as HTML."""
    if citation.key:
        kind, name = citation.key
        return f"missing: <code>{escape(f'{kind}:{name}')}</code>"
    return f"unreadable: <code>{escape(one_line(citation.literal))}</code> {escape(citation.fault)}"


def _dateline(report: Report) -> str:
    known = (report.provenance.created[:10], report.provenance.model, report.provenance.usage)
    parts = "".join(f"<span>{escape(part)}</span>" for part in known if part)
    return f'<p class="dateline">{parts}</p>'


def _banner(report: Report) -> str:
    """Return the status banner: that the report is incomplete, and why."""
    deliverable = report.deliverable
    words = STATUS_WORDS[deliverable.status]
    if not words:
        return ""
    note = f"<p>{escape(deliverable.note)}</p>" if deliverable.note else ""
    items = (f"<li><code>{escape(what)}</code> {why}</li>" for what, why in report.shortcomings)
    listed = f"<ul>{''.join(items)}</ul>" if report.shortcomings else ""
    stop = "" if deliverable.status == "partial" else " stop"
    return (
        f'<aside class="banner{stop}" aria-label="Status">'
        f"<p><strong>{words}</strong></p>{note}{listed}</aside>"
    )


def _footer(report: Report) -> str:
    source = report.provenance
    facts = {
        "Run": source.run,
        "Kind": source.kind,
        "Model": source.model,
        "Made": source.created,
        "Used": source.usage,
        "Digest": source.digest,
    }
    rows = "".join(f"<dt>{k}</dt><dd>{escape(v)}</dd>" for k, v in facts.items() if v)
    check = f"<p>Check it: <code>artificer replay {escape(source.run)}</code></p>"
    return f'<footer aria-label="Where this came from"><dl>{rows}</dl>{check}</footer>'


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


@cache
def _style() -> str:
    return packaged(render, "report.css")
