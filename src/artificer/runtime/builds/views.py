"""The artifacts of a run as files: ``artifacts/plan.json``, the truth, and its view ``plan.md``."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from artificer.artifacts.build_catalog import BuildArtifact
from artificer.artifacts.ref import BuildArtifactKind
from artificer.errors import OperatorError
from artificer.render.build_artifacts import build_artifact_markdown
from artificer.values.canon import digest_of


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
