"""Performing the calls of command tools: manifests in, receipts with evidence out."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from artificer.backends.call_folders import call_folder, scan_id_of
from artificer.backends.command.inputs import (
    Inputs,
    folder_names,
    inputs_of,
    passed,
    preview_of,
    working_folder,
)
from artificer.backends.command.output import (
    CommandOutcome,
    Start,
    judge_output,
    keep_output,
    not_started,
    receipt_of,
    remove_output,
)
from artificer.backends.command.spec.envelope import Envelope
from artificer.backends.command.spec.section import (
    CommandPart,
    as_probe,
    bind_command,
    command_line,
    wants_folder,
)
from artificer.backends.context import ExecutorContext
from artificer.backends.probing import as_tool, call_of, probed_of
from artificer.backends.process.capture import Capture
from artificer.backends.process.confine import file_problems, option_problems
from artificer.backends.process.environment import (
    KEY_VARIABLE,
    TOKEN_VARIABLE,
    child_environment,
    executor_environment,
)
from artificer.backends.process.run import Finished, Stdio, run_process
from artificer.backends.receipts import Now, timestamp_of
from artificer.backends.refusal import refuse
from artificer.backends.sandbox.finding import SandboxFinding
from artificer.backends.sandbox.grants import Grants
from artificer.backends.sandbox.sandbox import Sandbox
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.definition import toolset as toolset_of
from artificer.errors import BugError
from artificer.manifests.keys import CALL_PLACES, PLACES
from artificer.manifests.model import Manifest, ManifestFile
from artificer.ports import (
    BlobStore,
    Call,
    CallLocks,
    Executor,
    Preview,
    Probed,
    Receipt,
    SecretFinder,
)
from artificer.ports.clock import wall_time
from artificer.secrets.resolver import ENVIRONMENT
from artificer.system.home import working_directory
from artificer.values.base import JsonObject, JsonValue, Problem

_ENDINGS = {"text": "txt"}

CommandFile = ManifestFile[CommandPart]
"""A manifest with ``[command]``, and the file it came from."""


@dataclass(frozen=True)
class CommandPlan:
    """A call's command, or the problems that keep it from running.

    ``folder`` is the call's own, when its program receives one. ``env`` has no secrets yet, and
    ``values`` are those that the other inputs of the program are made of.
    """

    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path = Path()
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    folder: Path | None = None
    output_file: Path | None = None
    scan_id: str = ""
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class CommandExecutor:
    """Performs the calls of command tools, as processes of their own."""

    def __init__(
        self,
        tools: Sequence[CommandFile],
        *,
        cwd: Path | None = None,
        blobs: BlobStore | None = None,
        evidence: Path | None = None,
        grants: Grants | None = None,
        sandboxes: Sequence[SandboxFinding] | None = None,
        secrets: SecretFinder = ENVIRONMENT,
        now: Now = wall_time,
    ) -> None:
        """``cwd`` is the folder they run in, and that path arguments cannot leave (default: the
        current one). Output that is too long for an envelope is kept in ``blobs``, if there are
        any. ``evidence`` is where calls that need their own folder get it (default: a
        temporary folder). ``grants`` is what a sandbox lets them do (default: there is none),
        ``sandboxes`` those to choose from. ``secrets`` finds the values of references (default: in
        the environment), ``now`` is the time of the evidence.

        Tools that are only declared (``dispatch = "callback"``) are left out. Raises
        ToolDefinitionError when two tools share a name, and ConfigError when a tool's sandbox
        cannot be had.
        """
        self._tools = {
            tool.manifest.tool.name: tool
            for tool in tools
            if tool.manifest.tool.dispatch != "callback"
        }
        self._definitions = toolset_of(
            tuple(t.definition for t in tools if t.manifest.tool.dispatch != "callback")
        ).tools
        self._cwd = (cwd or working_directory()).resolve()
        self._sandbox = Sandbox(grants or Grants(), self._cwd, sandboxes)
        for tool in self._tools.values():
            self._sandbox.check(tool.manifest.tool)
        self._env = child_environment(os.environ)
        self._blobs = blobs
        self._evidence = evidence
        self._secrets = secrets
        self._now = now

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the given order."""
        return self._definitions

    def needed_secrets(self, tool: str) -> Iterable[str]:
        """Return the names of the secrets that a tool's inputs hold (ports.NeedingSecrets)."""
        return self._tools[tool].manifest.part.secrets

    def plan(self, call: Call) -> CommandPlan:
        """Return what a call would run. Makes the call's folder, if its program receives one."""
        return self._plan(self._tool(call), call)

    def preview(self, call: Call) -> Preview:
        """Return the command that a call would run (ports.Previewing)."""
        plan = self.plan(call)
        shown: JsonObject = {"command": [*plan.argv], "notes": [*plan.notes]}
        if not plan.problems:
            shown |= preview_of(self._tool(call).manifest, plan.values)
        return Preview(shown, plan.problems)

    def _plan(self, tool: CommandFile, call: Call) -> CommandPlan:
        manifest = tool.manifest
        bound = bind_command(manifest, call.arguments)
        cwd, problems = working_folder(manifest, bound, self._cwd)
        problems = bound.problems or problems
        if not problems:
            others = [a for a in manifest.arguments if a.name not in folder_names(manifest)]
            problems = tuple(file_problems(others, bound.values, cwd))
        if manifest.part.executor is not None:
            problems += tuple(option_problems(manifest.arguments, bound.values))
        if problems:
            return CommandPlan(problems=problems)
        scan_id = scan_id_of(call.run, call.id)
        folder, output_file = None, None
        of_call = (call.key, str(call.fencing_token))
        places = dict(zip(CALL_PLACES, of_call, strict=True))
        if wants_folder(manifest):
            folder = call_folder(self._evidence_root(), call.run, call.id)
            kind = manifest.output.format
            output_file = folder / f"output.{_ENDINGS.get(kind, kind)}"
            places |= zip(PLACES, (scan_id, str(folder), str(output_file)), strict=True)
        env = {**self._env, **passed(manifest, os.environ)}
        env |= zip((KEY_VARIABLE, TOKEN_VARIABLE), of_call, strict=True)
        if manifest.part.executor is not None:
            argv: tuple[str, ...] = (_program(tool, manifest.part.executor),)
            env |= executor_environment(manifest, bound, places)
        else:
            built = command_line(manifest, bound, places)
            if built.problems:
                return CommandPlan(problems=built.problems)
            argv = built.argv
        if cwd != self._cwd and "/" in argv[0]:  # it is relative to the folder of the tools
            argv = (str(self._cwd / argv[0]), *argv[1:])
        values = {**bound.values, **places}
        return CommandPlan(argv, env, cwd, values, folder, output_file, scan_id, bound.notes)

    async def execute(self, call: Call) -> Receipt:
        """Run the program within the call's time; a failing program is an error receipt."""
        return await self._perform(self._tool(call), call, again=True)

    async def probe(self, call: Call) -> Probed:
        """Ask the manifest's probe whether the call had happened (ports.Probing)."""
        tool = self._tool(call)
        probe = tool.manifest.probe
        if probe is None:
            return Probed(found="unknown")
        asking = replace(tool, manifest=as_tool(tool.manifest, as_probe(tool.manifest)))
        receipt = await self._perform(asking, call_of(asking.manifest, call))
        return probed_of(probe, receipt, "exit_code", "stdout")

    async def _perform(self, tool: CommandFile, call: Call, *, again: bool = False) -> Receipt:
        """Run a call's program; with ``again`` without what a former attempt has written, which a
        probe may look at.
        """
        name, timestamp = call.definition.name, timestamp_of(self._now())
        begun = Envelope(status="error", tool=name, command=(), timestamp=timestamp)
        try:
            plan = self._plan(tool, call)
        except OSError as error:
            return not_started(begun, f"its folder cannot be made: {error}")
        if plan.problems:
            return refuse(name, plan.problems)
        begun = begun.replace(command=plan.argv, scan_id=plan.scan_id, notes=plan.notes)
        inputs = await inputs_of(tool.manifest, plan.values, os.environ, self._secrets)
        if inputs.missing:
            return not_started(begun, f"not run: {inputs.missing}")
        if again and plan.output_file is not None:
            try:
                await asyncio.to_thread(remove_output, plan.output_file)
            except OSError as error:
                why = f"not run: what it wrote before cannot be removed: {error.strerror}"
                return not_started(begun, why)
        seconds = call.definition.timeout_ms / 1000
        ends = time.monotonic() + seconds
        with Capture(self._spill(tool)) as stdout:
            try:
                start, sandbox = self._starter(tool, plan, inputs, call.locks)
                stdio = Stdio(inputs.stdin, stdout)
                finished = inputs.clean(await start(plan.argv, seconds=seconds, stdio=stdio))
            except OSError as error:
                fault = f"{plan.argv[0]} could not be started: {error.strerror or error}"
                return not_started(begun, fault)
            if finished.exit_code is None:
                outcome = CommandOutcome("timeout", f"the program did not end within {seconds:g} s")
            else:
                left = max(1.0, ends - time.monotonic())
                script = tool.manifest.output.script
                outcome = await judge_output(
                    tool.manifest,
                    _program(tool, script) if script else None,
                    plan.output_file,
                    start,
                    finished,
                    stdout,
                    left,
                )
                outcome = inputs.clean_outcome(outcome)
            blobs: tuple[str, ...] = ()
            if self._blobs is not None and _is_kept(tool.manifest, finished):
                blobs = await asyncio.to_thread(
                    keep_output, stdout, inputs.clean_store(self._blobs)
                )
        ended = begun.replace(output_blobs=blobs, sandbox=sandbox)
        return receipt_of(ended, finished, outcome, envelope=tool.manifest.output.envelope)

    def _starter(
        self, tool: CommandFile, plan: CommandPlan, inputs: Inputs, locks: CallLocks | None
    ) -> tuple[Start, str | None]:
        """Return the function that starts a call's programs, and the name of their sandbox."""
        keys = tool.manifest.tool
        toolchain = self._sandbox.variables(keys, plan.argv[0], plan.env)
        env = {**toolchain, **plan.env, **inputs.env}
        confinement = self._sandbox.confine(
            tool.manifest.tool,
            plan.argv[0],
            env,
            cwd=plan.cwd,
            manifest=Path(tool.file),
            writable=[plan.folder] if plan.folder else [],
        )
        start = partial(
            run_process,
            env=env,
            cwd=plan.cwd,
            limits=tool.manifest.tool.limits,
            confinement=confinement,
            lock=locks.own if locks is not None else None,
        )
        return start, confinement.name

    def _tool(self, call: Call) -> CommandFile:
        tool = self._tools.get(call.definition.name)
        if tool is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        return tool

    def _evidence_root(self) -> Path:
        if self._evidence is None:
            self._evidence = Path(tempfile.mkdtemp(prefix="artificer-evidence-"))
        return self._evidence

    def _spill(self, tool: CommandFile) -> Path | None:
        """Where a long output goes that someone will want all of."""
        wanted = self._blobs is not None or tool.manifest.output.script is not None
        return Path(tempfile.gettempdir()) if wanted else None


def executors(files: Sequence[CommandFile], context: ExecutorContext) -> Iterable[Executor]:
    """Return one executor for the commands of a folder."""
    yield CommandExecutor(
        files,
        cwd=context.folder,
        blobs=context.clean_blobs,
        evidence=context.evidence,
        grants=context.grants,
        secrets=context.secrets,
        now=context.now,
    )


def _program(tool: CommandFile, name: str) -> str:
    """An executor or a parser: in the manifest's folder when its name has a slash, else on PATH."""
    return str((Path(tool.file).parent / name).absolute()) if "/" in name else name


def _is_kept(manifest: Manifest[CommandPart], finished: Finished) -> bool:
    return finished.stdout.is_shortened or manifest.tool.evidence.capture
