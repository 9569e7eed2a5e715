"""A program's outcome: its status, the results in its output, and the receipt that says so."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from artificer.backends.command.spec.envelope import (
    Envelope,
    EnvelopeStatus,
    bare_content_of,
    content_of,
)
from artificer.backends.command.spec.section import CommandPart
from artificer.backends.process.capture import HEAD_BYTES, Capture
from artificer.backends.process.run import Finished
from artificer.backends.secrets.redaction import CleanBlobs
from artificer.contracts.evidence import Parsed
from artificer.manifests.model import Manifest
from artificer.manifests.output import checked, parse_output
from artificer.manifests.output_formats import read_json
from artificer.ports import BlobStore, Receipt
from artificer.values.blocks import CallStatus
from artificer.values.text import clip

_STATUS: dict[str, CallStatus] = {"success": "ok", "error": "error", "timeout": "timeout"}
_REFUSAL = re.compile(
    r"(?i)permission denied|operation not permitted|read-only file system|network is unreachable"
    r"|EACCES|EPERM|EROFS"
)
"""Words of programs that a sandbox, or the system, has refused something."""

_NO_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)

Start = Callable[..., Awaitable[Finished]]
"""``run_process`` with all that a call's programs have in common."""


@dataclass(frozen=True)
class CommandOutcome:
    """Status and results of a run; ``output_file`` is the file that was read, if one was."""

    status: EnvelopeStatus
    fault: str | None = None
    parsed: Parsed | None = None
    output_file: str | None = None


def not_started(begun: Envelope, fault: str) -> Receipt:
    """Return the receipt of a program that was not started, and why."""
    envelope = begun.replace(fault=fault)
    return Receipt(status="error", content=content_of(envelope, None), evidence=envelope.to_text())


def receipt_of(
    begun: Envelope, finished: Finished, outcome: CommandOutcome, *, envelope: bool
) -> Receipt:
    """Return the receipt of a program that ran.

    The model reads the results or the output in an ``envelope``, or alone if it succeeded.
    """
    notes, parsed = begun.notes, outcome.parsed
    if (
        begun.sandbox is not None
        and outcome.status == "error"
        and _REFUSAL.search(finished.stderr.text)
    ):
        notes += (
            f"It ran in a sandbox ({begun.sandbox}), which may be what refused it:"
            " [sandbox] of artificer.toml grants folders and the network.",
        )
    ended = begun.replace(
        status=outcome.status,
        exit_code=finished.exit_code,
        stdout=finished.stdout,
        stderr=finished.stderr,
        output_hash=finished.output_hash,
        duration_ms=finished.duration_ms,
        left_behind=finished.left_behind,
        fault=outcome.fault,
        output_file=outcome.output_file,
        notes=notes,
    )
    write = content_of if envelope else bare_content_of
    return Receipt(
        status=_STATUS[outcome.status],
        content=write(ended, parsed),
        evidence=ended.to_text(),
        data=None if parsed is None or outcome.status != "success" else parsed.data,
    )


def keep_output(stdout: Capture, blobs: BlobStore) -> tuple[str, ...]:
    """Store an output in pieces, and return their digests in order."""
    if isinstance(blobs, CleanBlobs):
        return blobs.put_pieces(stdout.pieces(), whole=stdout.is_whole)
    return tuple(map(blobs.put, stdout.pieces()))


def remove_output(file: Path) -> None:
    """Remove what a former attempt of the call wrote into its file: it is no result of this one.

    Raises OSError. What is no file, or in no folder, stays: it is never read.
    """
    with suppress(*_NO_FILE), _folder(file) as folder:
        os.unlink(file.name, dir_fd=folder)


async def judge_output(
    manifest: Manifest[CommandPart],
    parser: str | None,
    output_file: Path | None,
    start: Start,
    finished: Finished,
    stdout: Capture,
    seconds: float,
) -> CommandOutcome:
    """Say what became of a run that ended by itself.

    ``parser`` is the manifest's own, if it has one; ``start`` starts it, for ``seconds``. What the
    program wrote into ``output_file`` is read instead of its standard output.
    """
    if finished.exit_code not in manifest.part.success_exit:
        return CommandOutcome("error")
    rule = manifest.output
    text, complete, written = finished.stdout.text, not finished.stdout.truncated, None
    if output_file is not None and (found := await asyncio.to_thread(_read, output_file)):
        (text, complete), written = found, str(output_file)
    if parser is not None and output_file is not None:
        if written is None:
            try:
                await asyncio.to_thread(_write, output_file, stdout)
            except OSError as error:
                fault = f"the output cannot be given to the parser: {error.strerror}"
                return CommandOutcome("error", fault)
        argv = (parser, str(output_file))
        parsed: Parsed | None = await _run_parser(argv, manifest, start, seconds)
        written = str(output_file)
    else:
        parsed = await asyncio.to_thread(parse_output, rule, text, complete=complete)
        if parsed is None and written is not None:
            parsed = Parsed(text)
    if parsed is not None and parsed.fault:
        return CommandOutcome("error", parsed.fault, parsed, written)
    return CommandOutcome("success", None, parsed, written)


async def _run_parser(
    argv: tuple[str, ...],
    manifest: Manifest[CommandPart],
    start: Start,
    seconds: float,
) -> Parsed:
    """Run the manifest's own parser, held as the program was; it prints JSON."""
    try:
        finished = await start(argv, seconds=seconds)
    except OSError as error:
        return Parsed(fault=f"the parser could not be started: {error.strerror or error}")
    if finished.exit_code is None:
        return Parsed(fault="the parser did not end in time")
    if finished.exit_code != 0:
        output = clip(finished.stderr.text.strip(), 500)
        return Parsed(fault=f"the parser ended with {finished.exit_code}: {output}")
    if finished.stdout.truncated:
        return Parsed(fault="the parser's output is too long")
    try:
        results = read_json(finished.stdout.text)
    except (ValueError, RecursionError) as error:
        return Parsed(fault=f"the parser's output is not JSON: {clip(str(error), 200)}")
    return checked(manifest.output, results, finished.stdout.text)


def _read(file: Path) -> tuple[str, bool] | None:
    """The beginning of a regular file, and whether that is all; None for anything else."""
    try:
        descriptor = _open(file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            data = opened.read(HEAD_BYTES + 1)
    finally:
        os.close(descriptor)
    return data[:HEAD_BYTES].decode("utf-8", "replace"), len(data) <= HEAD_BYTES


def _write(file: Path, stdout: Capture) -> None:
    """Write what a program printed into a new file. Raises OSError."""
    with os.fdopen(_open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as opened:
        opened.writelines(stdout.pieces())


def _open(file: Path, flags: int) -> int:
    """Open a file of a call's folder, and no link: the program had the folder."""
    with _folder(file) as folder:
        return os.open(file.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)


@contextmanager
def _folder(file: Path) -> Iterator[int]:
    """Open the folder of a call's file, which a program may have replaced by a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(file.parent, flags)
    try:
        yield folder
    finally:
        os.close(folder)
