"""The artifacts of a run as files: ``artifacts/plan.json``, the truth, and its view ``plan.md``."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from artificer.artifacts.build_catalog import BuildArtifact, read
from artificer.artifacts.ref import BuildArtifactKind
from artificer.errors import OperatorError, TamperedError
from artificer.render.build_artifacts import build_artifact_markdown
from artificer.values.canon import canonical, digest_of
from artificer.values.strict_json import parse_object

_BESIDE = ("created_at", "digest", "run")
"""The members of a file that are not part of the artifact."""


@dataclass(frozen=True)
class ArtifactFiles:
    """Where an artifact was written."""

    json: Path
    markdown: Path


def write_artifact(
    run_folder: Path, run: str, kind: BuildArtifactKind, artifact: BuildArtifact, at: int
) -> ArtifactFiles:
    """Write both forms into ``<run_folder>/artifacts``. Writing again replaces them, each whole.

    ``at`` is when the artifact was made, in milliseconds. Raises OperatorError when the disk is
    full or fails; the forms written before are then still whole.
    """
    data = artifact.canonical()
    stored = {**json.loads(data), "created_at": at, "digest": digest_of(data), "run": run}
    text = json.dumps(stored, ensure_ascii=False, indent=2)
    folder = run_folder / "artifacts"
    files = ArtifactFiles(folder / f"{kind}.json", folder / f"{kind}.md")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(files.markdown, build_artifact_markdown(artifact))
        _replace(files.json, text + "\n")
    except OSError as error:
        raise OperatorError(
            f"{folder} cannot be written: {error}.",
            hint="Check the permissions and the space on the disk, then resume.",
        ) from error
    return files


def read_artifact(file: Path, kind: BuildArtifactKind) -> tuple[BuildArtifact, str]:
    """Read a stored artifact with its digest.

    Raises:
        OperatorError: it cannot be read, or a newer release wrote it.
        TamperedError: it is not what was written.
    """
    try:
        stored = parse_object(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"{file} cannot be read: {error}.") from error
    if isinstance(stored, tuple):
        raise TamperedError(f"{file} is not the JSON that was written.")
    digest = stored.get("digest")
    data = canonical({name: v for name, v in stored.items() if name not in _BESIDE})
    if digest_of(data) != digest:
        raise TamperedError(f"{file} does not contain what was written to it.")
    return read(kind, data), digest_of(data)


def _replace(path: Path, text: str) -> None:
    """Write a temporary file and rename it: the file is there whole, old or new."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:  # an interrupt too: no half-written file stays behind
        Path(name).unlink(missing_ok=True)
        raise
