"""Performing the calls of ``[session]`` tools: one live program for each run and manifest."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from artificer.backends.context import ExecutorContext
from artificer.backends.deadline import Deadline
from artificer.backends.process.confine import file_problems
from artificer.backends.process.environment import child_environment
from artificer.backends.receipts import Now
from artificer.backends.refusal import refuse
from artificer.backends.sandbox.finding import SandboxFinding
from artificer.backends.sandbox.grants import Grants
from artificer.backends.sandbox.sandbox import Sandbox
from artificer.backends.session.conversation import Conversation, Program
from artificer.backends.session.spec.children import SessionPart
from artificer.backends.session.spec.commands import SessionCommand, session_commands
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.definition import toolset as toolset_of
from artificer.errors import BugError
from artificer.manifests.model import Manifest, ManifestFile
from artificer.ports import BlobStore, Call, Executor, Receipt
from artificer.ports.clock import wall_time
from artificer.system.home import working_directory
from artificer.system.tasks import shielded

TERMINAL = {"TERM": "dumb", "PAGER": "cat", "HISTFILE": "/dev/null"}
"""Environment variables that describe the terminal: no colours, no pager."""


class SessionExecutor:
    """Performs the calls of session commands.

    The first call of a run starts the program, :meth:`release` ends it.
    """

    def __init__(
        self,
        manifests: Sequence[Manifest[SessionPart]],
        *,
        cwd: Path | None = None,
        blobs: BlobStore | None = None,
        grants: Grants | None = None,
        sandboxes: Sequence[SandboxFinding] | None = None,
        now: Now = wall_time,
    ) -> None:
        """``cwd`` is the folder that programs run in (default: the current one). Long output
        is kept in ``blobs``, if there are any. ``grants`` is what a sandbox lets them do (default:
        there is none), ``sandboxes`` those to choose from, ``now`` the time of the evidence. Raises
        ToolDefinitionError when two tools share a name, and ConfigError when a tool's sandbox
        cannot be had.
        """
        self._env = {**child_environment(os.environ), **TERMINAL}
        self._cwd = (cwd or working_directory()).resolve()
        self._sandbox = Sandbox(grants or Grants(), self._cwd, sandboxes)
        self._blobs = blobs
        self._now = now
        found: list[tuple[Program, SessionCommand]] = []
        for manifest in manifests:
            program = self._program(manifest)
            commands = session_commands(manifest.tool, program.keys, manifest.scope, program.child)
            found += [(program, command) for command in commands]
        self._definitions = toolset_of(tuple(c.definition for _, c in found)).tools
        self._commands = {command.definition.name: (program, command) for program, command in found}
        self._conversations: dict[tuple[str, str], Conversation] = {}

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the given order."""
        return self._definitions

    async def execute(self, call: Call) -> Receipt:
        """Send the command's line and return the program's answer, within the call's time.

        The calls of one session are performed one after the other.
        """
        deadline = Deadline(call)
        found = self._commands.get(call.definition.name)
        if found is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        program, command = found
        line = command.form.line(call.arguments)
        outside = file_problems(command.form.arguments, call.arguments, self._cwd)
        if problems := (*line.problems, *outside):
            return refuse(call.definition.name, problems)
        conversation = self._conversation(call.run, program)
        conversation.lock = call.locks.shared if call.locks is not None else None
        return await conversation.say(command, line.text, deadline)

    def recall(self, run: str, calls: Mapping[str, int]) -> None:
        """Continue the counts of a run whose former process, and its programs, are gone."""
        for name in calls.keys() & self._commands.keys():
            program, _ = self._commands[name]
            self._conversation(run, program).tenure.recall(calls[name])

    async def release(self, run: str) -> None:
        """End the run's programs, with all that they started.

        A cancellation takes effect when they have ended.
        """
        await shielded(self._release(run))

    async def _release(self, run: str) -> None:
        mine = [key for key in self._conversations if key[0] == run]
        ending = [self._conversations.pop(key).end() for key in mine]
        await asyncio.gather(*ending)

    def _conversation(self, run: str, program: Program) -> Conversation:
        key = (run, program.tool.name)
        if key not in self._conversations:
            self._conversations[key] = Conversation(program, self._blobs, self._now)
        return self._conversations[key]

    def _program(self, manifest: Manifest[SessionPart]) -> Program:
        self._sandbox.check(manifest.tool)
        argv = tuple(shlex.split(manifest.part.keys.startup_command))
        return Program(
            tool=manifest.tool,
            keys=manifest.part.keys,
            argv=argv,
            env=self._env,
            cwd=self._cwd,
            confine=partial(self._sandbox.confine, manifest.tool, argv[0], self._env),
            child=manifest.part.child,
        )


def executors(
    files: Sequence[ManifestFile[SessionPart]], context: ExecutorContext
) -> Iterable[Executor]:
    """Return one executor for the sessions of a folder."""
    yield SessionExecutor(
        [file.manifest for file in files],
        cwd=context.folder,
        blobs=context.clean_blobs,
        grants=context.grants,
        now=context.now,
    )
