"""A report as one GitHub-flavoured Markdown file, for terminals, diffs and wikis.

Everything in an artifact is escaped, and the narrative is written again from its parsed form, so no
viewer finds an image, HTML or a link that the HTML page does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.file import TextFile
from artificer.artifacts.list import ItemList
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.table import Table
from artificer.artifacts.value import CitedValue
from artificer.render.attachments import attachments_markdown
from artificer.render.charts.summary import summary
from artificer.render.charts.words import Grid, grid
from artificer.render.language import Language
from artificer.render.message import message_markdown
from artificer.render.narrative import Citation, Key
from artificer.render.report import ArtifactName, Report
from artificer.render.source import passage_markdown
from artificer.render.tables import numeric_columns, shown, table_grid, tally
from artificer.render.text import clean, code_span, escape_markdown, fenced

NO_FILES: Mapping[Key, str] = {}
"""The report is one file."""


def to_markdown(report: Report, beside: Mapping[Key, str] = NO_FILES) -> str:
    """Return the report as Markdown. The same report gives the same bytes.

    ``beside`` are the paths of the pictures and text files that lie next to it.
    """
    heading = passage_markdown(report.heading) if report.heading else ""
    blocks = [heading or f"# {escape_markdown(report.title)}", *_banner(report)]
    message = report.deliverable.message
    blocks += message_markdown(message, lambda citation: _inline(report, citation))
    for index in range(len(report.body)):
        blocks += _passage(report, index, beside)
    if report.uncited and report.body:
        blocks.append(f"## {escape_markdown(report.language.say('also'))}")
    blocks += (_artifact(report, report.names[key], beside) for key in report.uncited)
    blocks += _values(report)
    if report.bound:
        blocks.append(f"*{escape_markdown(report.language.say('note_words'))}*")
    blocks += attachments_markdown(report.attached)
    blocks.append(_footer(report))
    return "\n\n".join(blocks) + "\n"


def _passage(report: Report, index: int, beside: Mapping[Key, str]) -> Iterator[str]:
    """Yield a passage with named citations, and the artifacts whose place it is."""
    passage, here = report.body[index], report.stands_at(index)
    if passage.on_own_line:
        placed: set[Key] = set()
        for citation in passage.citations:
            name = report.names.get(citation.key) if citation.key else None
            if name and name.key in here and name.key not in placed:
                placed.add(name.key)
                yield _artifact(report, name, beside)
            else:
                there = _inline(report, citation)
                yield report.language.say("see", there) if name else there
        return
    marks, source = passage.marks, passage_markdown(passage)
    yield marks.pattern.sub(lambda m: _inline(report, marks.citations[int(m[1])]), source)
    for key in here:
        yield _artifact(report, report.names[key], beside)


def _values(report: Report) -> Iterator[str]:
    """Yield where the cited values come from."""
    if report.values:
        yield f"## {report.language.say('values')}"
        yield "\n".join(
            f"- {escape_markdown(v.shown)}{f' ({escape_markdown(v.title)})' if v.title else ''}:"
            f" {escape_markdown(v.source)}"
            for v in report.values
        )


def _inline(report: Report, citation: Citation) -> str:
    if citation.key is None:
        word, fault = report.language.say("unreadable"), escape_markdown(citation.fault)
        return f"**[{word} {code_span(citation.literal)} {fault}]**"
    name = report.names.get(citation.key)
    if name and name.shown:
        shown = escape_markdown(name.shown)
        return f"“{shown}”" if citation.glued else shown
    if name:
        return escape_markdown(name.short)
    return f"**[{report.language.say('missing')} {code_span(':'.join(citation.key))}]**"


def _banner(report: Report) -> Iterator[str]:
    deliverable = report.deliverable
    if deliverable.status != "completed":
        words = report.language.say(deliverable.status)
        lines = [f"**{words}** {escape_markdown(deliverable.note)}".rstrip()]
        lines += [f"- {code_span(what)} {why}" for what, why in report.shortcomings]
        yield "\n".join(f"> {line}" for line in lines)


def _artifact(report: Report, name: ArtifactName, beside: Mapping[Key, str]) -> str:
    artifact = report.artifacts[name.key]
    path = beside.get(name.key)
    if path is None:
        return _whole(artifact, name, report.language)
    if isinstance(artifact, TextFile):
        return f"[{escape_markdown(artifact.name)}]({path})"
    picture = f"![{escape_markdown(name.title or name.short)}]({path})"
    return (
        _titled(name, picture)
        if isinstance(artifact, Svg)
        else _whole(artifact, name, report.language, picture)
    )


def _whole(artifact: Artifact, name: ArtifactName, ui: Language, picture: str = "") -> str:
    match artifact:
        case Table():
            return _titled(name, _table(table_grid(artifact), ui))
        case ItemList() | Checklist():
            return _items(artifact, name, ui)
        case Svg():
            return _titled(name, fenced(artifact.content, "svg"))
        case TextFile():
            kind = "markdown" if artifact.name.lower().endswith(".md") else "text"
            return f"{code_span(artifact.name)}\n\n{fenced(clean(artifact.content), kind)}"
        case CitedValue():
            return escape_markdown(name.shown)
        case _:
            words, data = escape_markdown(summary(artifact, ui)), _table(grid(artifact, ui), ui)
            parts = (picture, words, data)
            return _titled(name, "\n\n".join(filter(None, parts)))


def _items(artifact: ItemList | Checklist, name: ArtifactName, ui: Language) -> str:
    if isinstance(artifact, Checklist):
        boxes = (
            f"- [{'x' if i.checked else ' '}] {escape_markdown(i.label)}" for i in artifact.items
        )
        return _titled(name, "\n".join(boxes), f" ({tally(artifact, ui)})")
    markers = (f"{n}." if artifact.ordered else "-" for n in range(1, 10_000))
    pairs = zip(markers, artifact.items, strict=False)
    return _titled(name, "\n".join(f"{marker} {escape_markdown(item)}" for marker, item in pairs))


def _titled(name: ArtifactName, body: str, after: str = "") -> str:
    words = ". ".join(filter(None, (name.number, escape_markdown(name.title))))
    if name.source:
        body += f"\n\n*{escape_markdown(name.source)}*"
    return f"**{words}**{after}\n\n{body}" if words else body


def _table(data: Grid, ui: Language) -> str:
    align = ("--:" if numeric else "---" for numeric in numeric_columns(data))
    lines = [
        " | ".join(map(escape_markdown, data.columns)),
        " | ".join(align),
        *(" | ".join(escape_markdown(shown(cell, ui)) for cell in row) for row in data.rows),
    ]
    return "\n".join(f"| {line} |" for line in lines)


def _footer(report: Report) -> str:
    source = report.provenance
    facts = [source.created, source.model, source.usage, source.digest]
    line = " · ".join(escape_markdown(fact) for fact in facts if fact)
    check = f"{report.language.say('check')} {code_span(f'artificer replay {source.run}')}"
    return "---\n\n" + "  \n".join(filter(None, (line, check)))
