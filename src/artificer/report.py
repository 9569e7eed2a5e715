"""The views of a finished run: an HTML page, Markdown, and the artifacts as files."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from artificer.artifacts import catalog
from artificer.artifacts.binding.source_note import source_note_of
from artificer.artifacts.build_catalog import is_build_tool
from artificer.artifacts.deliverable import Deliverable
from artificer.artifacts.ticked import read_payload
from artificer.core.attachments import attached_to
from artificer.core.fallback import models_in_words
from artificer.core.state import RunState
from artificer.errors import ArtificerError, InvariantError
from artificer.ports import BlobStore
from artificer.render.attachments import ShownAttachment
from artificer.render.export.bundle import bundle
from artificer.render.export.exported import Exported, Files, quiet
from artificer.render.narrative import Key
from artificer.render.report import Provenance, Report
from artificer.system.utc import utc_timestamp
from artificer.system.whole_file import write_whole
from artificer.values.base import JsonObject
from artificer.values.blocks import ImageBlock
from artificer.values.text import clip

log = logging.getLogger("artificer.report")

TITLE_CHARACTERS = 80


@dataclass(frozen=True)
class Views:
    """The paths of a run's views."""

    html: Path
    markdown: Path
    json: Path
    artifacts: tuple[Path, ...]


def make_report(
    run_id: str,
    state: RunState,
    deliverable: Deliverable,
    blobs: BlobStore,
    *,
    forming: bool = False,
) -> Report:
    """Load a deliverable's artifacts and provenance.

    An artifact that cannot be loaded is marked as missing at its citation: its blob was damaged,
    or a newer release is stricter than the one that accepted it. ``forming`` says
    that the run is not over.
    """
    artifacts = {}
    payloads = {}
    for ref in deliverable.artifacts:
        if is_build_tool(ref.tool):
            continue  # builds have their own views
        try:
            payload = read_payload(ref, blobs.get(ref.payload), state.ticks)
            artifacts[ref.kind, ref.id] = catalog.load(ref.tool, payload)
            payloads[ref.kind, ref.id] = (ref.tool, payload)
        except (ArtificerError, ValueError) as error:
            log.warning("the artifact %s:%s cannot be shown: %s", ref.kind, ref.id, error)
    report = Report(
        _title(state, deliverable),
        deliverable,
        artifacts,
        _provenance(run_id, state),
        tuple(_attached(state, blobs)),
    )
    words = report.language.words
    return replace(
        report,
        sources={key: source_note_of(*made, words) for key, made in payloads.items()},
        forming=forming,
        bound=any(catalog.binding_of(*made) for made in payloads.values()),
    )


def _attached(state: RunState, blobs: BlobStore) -> Iterator[ShownAttachment]:
    """Yield the attachments of the conversation, each once; an image with its bytes."""
    blocks = [block for message in state.history for block in attached_to(message)]
    for block in {block.digest: block for block in blocks}.values():
        data = None
        if isinstance(block, ImageBlock):
            try:
                data = blobs.get(block.digest)
            except ArtificerError as error:
                log.warning("the image %s cannot be shown: %s", block.digest, error)
        yield ShownAttachment(block, data)


def make_exported(
    run_id: str, state: RunState, deliverable: Deliverable, blobs: BlobStore
) -> Exported:
    """Load a deliverable with the JSON of each artifact, to export it.

    Raises:
        NotFoundError, TamperedError: the blob of an artifact is not what it was.
    """
    report = make_report(run_id, state, deliverable, blobs)
    payloads: dict[Key, JsonObject] = {
        (ref.kind, ref.id): read_payload(ref, blobs.get(ref.payload), state.ticks)
        for ref in deliverable.artifacts
        if (ref.kind, ref.id) in report.artifacts
    }
    return Exported(report, payloads)


def write_views(
    folder: Path,
    run_id: str,
    state: RunState,
    deliverable: Deliverable,
    blobs: BlobStore,
    made: str = "",
) -> Views:
    """Write the files of an archive into a folder: page, Markdown, JSON, and ``artifacts/…``.

    They are made from what is recorded and never read back. A drawing is written as rebuilt, never
    as the model wrote it. ``made`` is the name of a page next to it on how it was made.
    """
    exported = make_exported(run_id, state, deliverable, blobs)
    shown = replace(exported.report, made=made)
    files = bundle(Exported(shown, exported.payloads), quiet)
    paths = dict(zip(files, write_files(folder, files), strict=True))
    return Views(
        paths.pop("report.html"),
        paths.pop("report.md"),
        paths.pop("report.json"),
        tuple(paths.values()),
    )


def write_files(folder: Path, files: Files) -> list[Path]:
    """Write files into a folder, each whole, and return their paths. None is written outside it.

    Raises OSError; the files written before are then whole.
    """
    written = []
    for name, data in files.items():
        parts = PurePosixPath(name).parts
        if PurePosixPath(name).is_absolute() or ".." in parts:
            raise InvariantError(f"{name!r} is not the name of a file within a folder.")
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
        written.append(path)
    return written


def _title(state: RunState, deliverable: Deliverable) -> str:
    """Return the narrative's first heading, or the prompt's first line."""
    for line in deliverable.narrative.splitlines():
        if line.startswith("# "):
            return clip(line[2:].strip(), TITLE_CHARACTERS)
    first = state.run_spec.prompt.strip().splitlines()
    return clip(first[0] if first else "Report", TITLE_CHARACTERS)


def _provenance(run_id: str, state: RunState) -> Provenance:
    spec, usage = state.run_spec, state.usage
    turns = f"{state.turn} turn{'' if state.turn == 1 else 's'}"
    return Provenance(
        run=run_id,
        model=models_in_words(state),
        kind=spec.kind,
        created=utc_timestamp(state.now),
        digest=state.deliverable or "",
        usage=f"{turns}, {usage.input_tokens} tokens in, {usage.output_tokens} out",
    )
