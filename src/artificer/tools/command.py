"""Performing the calls of command tools: manifests in, receipts with evidence out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from artificer.contracts.definition import ToolDefinition
from artificer.contracts.definition import toolset as toolset_of
from artificer.contracts.envelope import Envelope, EnvelopeStatus, content_of
from artificer.contracts.manifest import Manifest
from artificer.contracts.output import Parsed, parse_output
from artificer.errors import BugError
from artificer.ports import Call, Receipt
from artificer.tools.process import Finished, run_process
from artificer.tools.refusal import refuse
from artificer.values.base import JsonObject, Problem
from artificer.values.blocks import CallStatus

ENV_ALLOWED = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR")
"""What a program is given of our environment, beside ``LC_*``: never a key, by being unnamed."""

KEY_VARIABLE = "ARTIFICER_IDEMPOTENCY_KEY"
"""Where a program finds its call's idempotency key."""

_STATUS: dict[EnvelopeStatus, CallStatus] = {
    "success": "ok",
    "error": "error",
    "timeout": "timeout",
}


@dataclass(frozen=True)
class CommandTool:
    """A manifest, and the file it came from."""

    manifest: Manifest
    file: str

    @property
    def definition(self) -> ToolDefinition:
        """The tool as a model and the gate see it."""
        return self.manifest.definition


class CommandExecutor:
    """Performs the calls of command tools, as processes of their own."""

    def __init__(
        self,
        tools: Sequence[CommandTool],
        *,
        cwd: Path | None = None,
        env_allow: Iterable[str] = (),
    ) -> None:
        """``cwd`` is the folder they run in, and that path arguments cannot leave (default: the
        current one). ``env_allow`` names further variables that programs may see.

        Raises ToolDefinitionError when two tools share a name.
        """
        self._manifests = {tool.manifest.tool.name: tool.manifest for tool in tools}
        self._definitions = toolset_of(tuple(tool.definition for tool in tools)).tools
        self._cwd = (cwd or Path.cwd()).resolve()
        self._env = child_environment(os.environ, env_allow)

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the given order."""
        return self._definitions

    async def execute(self, call: Call) -> Receipt:
        """Run the program within the call's time; a failing program is an error receipt."""
        manifest = self._manifests.get(call.definition.name)
        if manifest is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        built = manifest.argv(call.arguments)
        problems = built.problems or _outside(manifest, call.arguments, self._cwd)
        if problems:
            return refuse(call.definition.name, problems)
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            finished = await run_process(
                built.argv,
                env={**self._env, KEY_VARIABLE: call.key},
                cwd=self._cwd,
                seconds=call.definition.timeout_ms / 1000,
            )
        except OSError as error:
            return _not_started(call, built.argv, timestamp, error)
        return _receipt(call, manifest, built.argv, timestamp, finished)


def child_environment(ours: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str]:
    """The part of our environment that a program may see: an allow-list (invariant 10)."""
    allowed = {*ENV_ALLOWED, *also}
    return {name: v for name, v in ours.items() if name in allowed or name.startswith("LC_")}


def _outside(manifest: Manifest, given: JsonObject, root: Path) -> tuple[Problem, ...]:
    """The path arguments that symbolic links lead out of the root."""
    return tuple(
        Problem(pointer=f"/{argument.name}", message="leads out of the folder of the tools")
        for argument in manifest.arguments
        if argument.type == "path"
        and argument.name in given
        and not _is_inside(root, str(given[argument.name]))
    )


def _is_inside(root: Path, path: str) -> bool:
    try:
        return (root / path).resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a loop of symbolic links
        return False


def _not_started(call: Call, argv: tuple[str, ...], timestamp: str, error: OSError) -> Receipt:
    envelope = Envelope(
        status="error",
        tool=call.definition.name,
        command=argv,
        timestamp=timestamp,
        fault=f"{argv[0]} could not be started: {error.strerror or error}",
    )
    return Receipt(status="error", content=content_of(envelope, None), evidence=envelope.to_text())


def _receipt(
    call: Call, manifest: Manifest, argv: tuple[str, ...], timestamp: str, finished: Finished
) -> Receipt:
    status, fault, parsed = _judge(call, manifest, finished)
    envelope = Envelope(
        status=status,
        tool=call.definition.name,
        command=argv,
        exit_code=finished.exit_code,
        stdout=finished.stdout,
        stderr=finished.stderr,
        output_hash=finished.output_hash,
        duration_ms=finished.duration_ms,
        timestamp=timestamp,
        left_behind=finished.left_behind,
        fault=fault,
    )
    return Receipt(
        status=_STATUS[status],
        content=content_of(envelope, parsed),
        evidence=envelope.to_text(),
    )


def _judge(
    call: Call, manifest: Manifest, finished: Finished
) -> tuple[EnvelopeStatus, str | None, Parsed | None]:
    if finished.exit_code is None:
        seconds = call.definition.timeout_ms / 1000
        return "timeout", f"the program did not end within {seconds:g} s", None
    if finished.exit_code not in manifest.success_exit:
        return "error", None, None
    stdout = finished.stdout
    parsed = parse_output(manifest.output, stdout.text, complete=not stdout.truncated)
    if parsed and parsed.fault:
        return "error", parsed.fault, parsed
    return "success", None, parsed
