"""The input of rendering: a deliverable with its payloads and its provenance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.deliverable import Deliverable
from artificer.artifacts.file import TextFile
from artificer.artifacts.ref import FindingCode, MadeKind
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.value import CitedValue
from artificer.render.attachments import ShownAttachment
from artificer.render.charts.words import CHARTS, kind_name
from artificer.render.language import Language, language_of
from artificer.render.narrative import Key, Passage, read
from artificer.render.text import anchor, one_line

_WORD = re.compile(r"\w+")

_SHOWN: frozenset[FindingCode] = frozenset(("missing", "malformed", "unknown_kind", "too_long"))
"""Findings a reader should know. The page has words of its own for them."""


@dataclass(frozen=True)
class Provenance:
    """The origin of a report, as text for its footer. Empty fields are left out.

    ``created`` is ISO 8601, ``digest`` the deliverable's digest, ``usage`` its turns and tokens.
    """

    run: str
    model: str = ""
    kind: str = ""
    created: str = ""
    digest: str = ""
    usage: str = ""


@dataclass(frozen=True)
class ArtifactName:
    """An artifact's name in its caption, in sentences and in links.

    ``source`` says where its numbers come from. ``shown`` is the text of a cited value, and
    ``called`` the word in a sentence for an artifact with neither number nor title.
    """

    key: Key
    number: str
    title: str
    source: str = ""
    shown: str = ""
    called: str = ""

    @property
    def anchor(self) -> str:
        """The artifact's fragment id."""
        return anchor(*self.key)

    @property
    def short(self) -> str:
        """The short name used in a sentence."""
        return self.number or self.title or self.called


@dataclass(frozen=True)
class SectionTitle:
    """A heading of the narrative: its fragment id, its level and its words."""

    id: str
    level: int
    title: str


@dataclass(frozen=True)
class Report:
    """A deliverable with everything its rendering needs.

    ``artifacts`` holds the payload of each artifact by kind and id. A cited artifact that is not
    in it is marked as missing at its citation. ``attached`` are the images, sounds and files of the
    run's conversation. ``sources`` are the sentences about where numbers come from, ``made`` the
    page next to it on how it was made. ``bound`` says that some numbers come from results, so that
    the page says which words do not. ``forming`` says that its run is not over.
    """

    title: str
    deliverable: Deliverable
    artifacts: Mapping[Key, Artifact]
    provenance: Provenance
    attached: tuple[ShownAttachment, ...] = ()
    sources: Mapping[Key, str] = field(default_factory=dict)
    made: str = ""
    bound: bool = False
    forming: bool = False

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The narrative, block by block, with the citations of each block."""
        return read(self.deliverable.narrative)

    @cached_property
    def language(self) -> Language:
        """The language of the narrative, or of the titles where there is no narrative."""
        titles = " ".join(own_title(artifact) for artifact in self.artifacts.values())
        return language_of(self.deliverable.narrative or f"{self.title} {titles}")

    @cached_property
    def heading(self) -> Passage | None:
        """The narrative's own title, if it begins with a first-level heading."""
        first = self.passages[0] if self.passages else None
        is_title = first and first.level == 1 and first.words and not first.citations
        return first if is_title else None

    @cached_property
    def body(self) -> tuple[Passage, ...]:
        """The passages after the heading."""
        return self.passages[1:] if self.heading else self.passages

    @cached_property
    def sections(self) -> dict[int, SectionTitle]:
        """The headings of ``body`` by the index of their passage, each with its own id."""
        found: dict[int, SectionTitle] = {}
        taken: set[str] = set()
        for index, passage in enumerate(self.body):
            if passage.level:
                title = one_line(passage.marks.pattern.sub("", passage.title))
                base = "s-" + "-".join(_WORD.findall(title.casefold()))[:60]
                number = next(n for n in count(1) if f"{base}-{n}" not in taken)
                section = f"{base}-{number}" if number > 1 or base == "s-" else base
                taken.add(f"{base}-{number}")
                found[index] = SectionTitle(section, passage.level, title)
        return found

    @cached_property
    def uncited(self) -> tuple[Key, ...]:
        """The artifacts that no passage cites, in the order they were made."""
        cited = {citation.key for passage in self.passages for citation in passage.citations}
        return tuple(key for key in self._made if key not in cited and key[0] != "value")

    @cached_property
    def places(self) -> dict[Key, int]:
        """The index in ``body`` of the passage after which, or as which, a cited artifact stands.

        A placeholder alone on a line is the artifact's place. An artifact that is only mentioned
        within sentences stands after the first of them.
        """
        own_line: dict[Key, int] = {}
        mentioned: dict[Key, int] = {}
        for index, passage in enumerate(self.body):
            found = own_line if passage.on_own_line else mentioned
            for key in (citation.key for citation in passage.citations):
                if key and key in self.artifacts:
                    found.setdefault(key, index)
        return mentioned | own_line

    def stands_at(self, index: int) -> tuple[Key, ...]:
        """Return the artifacts whose place is a passage of ``body``, in the order of citations."""
        cited = dict.fromkeys(citation.key for citation in self.body[index].citations)
        placed = (key for key in cited if key and key[0] != "value")
        return tuple(key for key in placed if self.places.get(key) == index)

    @cached_property
    def names(self) -> dict[Key, ArtifactName]:
        """The name of every artifact; figures and tables are numbered in order of appearance."""
        order = [key for index in range(len(self.body)) for key in self.stands_at(index)]
        counts = {"figure": 0, "table": 0}
        names: dict[Key, ArtifactName] = {}
        inline = (key for key in self._made if key[0] == "value")
        for key in (*order, *self.uncited, *inline):
            artifact, number = self.artifacts[key], ""
            if series := _NUMBERED.get(key[0]):
                counts[series] += 1
                number = self.language.say(series, counts[series])
            shown = _cited(artifact, self.language)
            source = self.sources.get(key, "")
            called = self.language.say(f"called_{key[0]}")
            names[key] = ArtifactName(
                key, number, title_of(artifact, self.language), source, shown, called
            )
        return names

    @property
    def values(self) -> tuple[ArtifactName, ...]:
        """The cited values, in the order in which they appear."""
        cited = [c.key for passage in self.passages for c in passage.citations]
        kept = dict.fromkeys(key for key in cited if key in self.names)
        return tuple(self.names[key] for key in kept if key and self.names[key].shown)

    @property
    def shortcomings(self) -> tuple[tuple[str, str], ...]:
        """The faults a reader should know, without repeats, as pairs of subject and fault."""
        found = self.deliverable.findings
        say = self.language.say
        known = ((f.subject, say(f"find_{f.code}")) for f in found if f.code in _SHOWN)
        return tuple(dict.fromkeys(known))

    @property
    def _made(self) -> tuple[Key, ...]:
        refs = [(ref.kind, ref.id) for ref in self.deliverable.artifacts]
        return tuple(
            dict.fromkeys(key for key in (*refs, *self.artifacts) if key in self.artifacts)
        )


_NUMBERED: dict[MadeKind, str] = {"chart": "figure", "svg": "figure", "table": "table"}


def own_title(artifact: Artifact) -> str:
    """Return the title that the artifact was given, or a file's name; "" if it has none."""
    return one_line(artifact.name if isinstance(artifact, TextFile) else artifact.title)


def title_of(artifact: Artifact, ui: Language) -> str:
    """Return the artifact's title, a file's name, or the kind of an untitled chart or drawing."""
    if title := own_title(artifact):
        return title
    if isinstance(artifact, CHARTS):
        return kind_name(artifact, ui)
    return ui.say("kind_drawing") if isinstance(artifact, Svg) else ""


_NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")


def _cited(artifact: Artifact, ui: Language) -> str:
    """Return the text of a cited value, with its number as the language of the page writes it."""
    if not isinstance(artifact, CitedValue):
        return ""
    found = _NUMBER.search(artifact.shown)
    is_number = _NUMBER.fullmatch(artifact.value) and found
    if not is_number or not found:
        return artifact.shown
    before, after = artifact.shown[: found.start()], artifact.shown[found.end() :]
    return f"{before}{ui.numbers.translated(found[0])}{after}"
