"""Running a validation command: its exit code decides; its output goes to the next attempt."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from artificer.artifacts.command_line import is_allowed, split_command
from artificer.backends.process.environment import child_environment
from artificer.backends.process.run import Finished, run_process
from artificer.backends.sandbox.grants import Grants
from artificer.backends.sandbox.rules import paths, system_folders
from artificer.backends.sandbox.sandbox import Sandbox
from artificer.errors import ConfigError
from artificer.manifests.keys import ToolKeys
from artificer.runtime.builds.detect import Project
from artificer.runtime.builds.evidence.counts import counted
from artificer.runtime.builds.evidence.weigh import Validation
from artificer.runtime.builds.room import require_room
from artificer.runtime.builds.toolchains import hidden
from artificer.values.text import clip, head_and_tail

_KEYS = ToolKeys(name="validation", version="1", description="A validation command.")
"""The sandbox's settings for a validation command: those of any command of the project."""

NO_SANDBOX = "none"
"""Recorded for a validation without a sandbox."""

MAX_OUTPUT = 2_500
"""Characters of a stream that a report shows."""


@dataclass(frozen=True)
class Validator:
    """Runs validation commands as the project's own are run, and within the same bounds."""

    project: Project
    seconds: float = 900
    grants: Grants = field(default_factory=Grants)
    clean: Callable[[str], str] = str
    """Takes secrets out of what commands say."""

    async def one(self, line: str, worktree: Path) -> Validation:
        """Run one command in a worktree."""
        argv = split_command(line)
        if isinstance(argv, str):
            return Validation(False, f"$ {line}\nThis is no command: it {argv}.")
        if not is_allowed(argv, self.project.allowed):
            allowed = ", ".join(self.project.allowed)
            return Validation(False, f"$ {line}\nOnly these commands are run: {allowed}.")
        env = self.project.environment(child_environment(os.environ), worktree)
        try:
            sandbox = self._sandbox(worktree)  # its folder for temporary files goes with it
            confinement = sandbox.confine(_KEYS, argv[0], env)
            done = await run_process(
                argv, env=env, cwd=worktree, seconds=self.seconds, confinement=confinement
            )
        except OSError as error:
            require_room(worktree)
            output = error.strerror or str(error)
            return Validation(False, f"$ {line}\n{argv[0]} could not be started: {output}.")
        if done.exit_code != 0:
            require_room(worktree)
        if done.exit_code != 0 and confinement.name:
            self._require_visible(line, f"{done.stdout.text}\n{done.stderr.text}", env, worktree)
        return Validation(
            done.exit_code == 0,
            self.clean(_report(line, done, self.seconds)),
            counted(f"{done.stdout.text}\n{done.stderr.text}"),
            confinement.name or NO_SANDBOX,
        )

    def _require_visible(self, line: str, output: str, env: dict[str, str], worktree: Path) -> None:
        """Raise ConfigError for a program that is missing only because the sandbox hides it, and
        for a sandbox that cannot be made.

        That is nothing an attempt could mend, so it is not one that failed.
        """
        if output.strip().startswith("bwrap: "):
            raise ConfigError(
                f"The sandbox cannot start `{line}`: {clip(output.strip(), 300)}",
                hint="`artificer doctor` shows which sandboxes work here. "
                "To run without one: [sandbox] mode = 'off'.",
            )
        grants = self.project.granted(self.grants, worktree)
        visible = (
            *system_folders(network=grants.network),
            *paths((*grants.readable, *grants.writable), worktree),
        )
        for program, place in hidden(output, env, visible):
            raise ConfigError(
                f"`{line}` needs {program}, and {place} is not visible in the sandbox.",
                hint="In artificer.toml, name the folder of its installation:"
                f' [sandbox] readable = ["{place.parent}"]; or mode = "off".',
            )

    def _sandbox(self, worktree: Path) -> Sandbox:
        sandbox = Sandbox(self.project.granted(self.grants, worktree), worktree)
        sandbox.check(_KEYS)
        return sandbox


def _report(line: str, done: Finished, seconds: float) -> str:
    ended = f"exit code {done.exit_code}"
    if done.exit_code is None:
        ended = f"did not end within {seconds:g} s"
    parts = [f"$ {line}", ended]
    for name, stream in (("output", done.stdout), ("errors", done.stderr)):
        if text := stream.text.strip():
            parts.append(f"--- {name}\n{head_and_tail(text, MAX_OUTPUT)}")
    return "\n".join(parts)
