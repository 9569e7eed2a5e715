"""The inputs of a program besides its arguments, when it starts: variables, stdin, its folder.

Secrets are found here, right before the start, and taken out of everything that the program says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from artificer.backends.command.output import CommandOutcome
from artificer.backends.command.spec.section import CommandPart
from artificer.backends.command.spec.surroundings import filled
from artificer.backends.process.confine import folder_problem
from artificer.backends.process.run import Finished
from artificer.backends.secrets.redaction import CleanBlobs, Redactor
from artificer.contracts.arguments.bind import BoundArguments
from artificer.contracts.arguments.types import Argument
from artificer.contracts.evidence import Parsed
from artificer.manifests.model import Manifest
from artificer.ports import BlobStore, SecretFinder
from artificer.values.base import JsonObject, JsonValue, Problem

_HOLDS_SECRET = re.compile(
    r"(?i)token|secret|passw|passphrase|credential|(?:api|private)_?key|auth"
)
"""Names of variables whose values are secrets."""

MIN_SECRET = 8
"""Characters of the shortest inherited value that is taken for a secret."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of one call: ``env`` and ``stdin`` hold secrets, and are shown nowhere.

    ``missing`` says which secret cannot be had; nothing can start without it.
    """

    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    stdin: bytes = field(default=b"", repr=False)
    redactor: Redactor = field(default_factory=lambda: Redactor({}), repr=False)
    missing: str = ""

    def clean(self, finished: Finished) -> Finished:
        """Take the secrets out of a program's output."""
        if not self.redactor.longest:
            return finished
        out, err = finished.stdout, finished.stderr
        return replace(
            finished,
            stdout=out.replace(text=self.redactor.clean(out.text)),
            stderr=err.replace(text=self.redactor.clean(err.text)),
        )

    def clean_outcome(self, outcome: CommandOutcome) -> CommandOutcome:
        """Take the secrets out of results that were read elsewhere: from a file, by a parser."""
        if not self.redactor.longest:
            return outcome
        fault = outcome.fault and self.redactor.clean(outcome.fault)
        parsed = outcome.parsed
        if parsed is not None:
            why = parsed.fault and self.redactor.clean(parsed.fault)
            data = parsed.data and self.redactor.clean(parsed.data)
            parsed = Parsed(self.redactor.clean_value(parsed.results), why, data)
        return replace(outcome, fault=fault, parsed=parsed)

    def clean_store(self, blobs: BlobStore) -> BlobStore:
        """Return a store that keeps bytes without the secrets."""
        return CleanBlobs(blobs, self.redactor) if self.redactor.longest else blobs


async def inputs_of(
    manifest: Manifest[CommandPart],
    values: Mapping[str, JsonValue],
    environment: Mapping[str, str],
    secrets: SecretFinder,
) -> Inputs:
    """Return the inputs of a call, with its secrets and the variables that it inherits."""
    wanted = manifest.part.surroundings
    found = await secrets.found(wanted.secrets)
    if found.missing:
        return Inputs(missing=found.missing)
    arguments = _by_name(manifest)
    env = {
        name: value
        for name, parts in wanted.env
        if (value := filled(parts, values, arguments, found.values)) is not None
    }
    stdin = filled(wanted.stdin or (), values, arguments, found.values) or ""
    hidden = {**found.values} | {
        name: value
        for name, value in passed(manifest, environment).items()
        if _HOLDS_SECRET.search(name) and len(value) >= MIN_SECRET
    }
    return Inputs(env, stdin.encode("utf-8", "surrogateescape"), Redactor(hidden))


def passed(manifest: Manifest[CommandPart], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a program inherits by name."""
    names = manifest.part.surroundings.env_pass
    return {name: environment[name] for name in names if name in environment}


def preview_of(manifest: Manifest[CommandPart], values: Mapping[str, JsonValue]) -> JsonObject:
    """Return the inputs as people read them: a mark for each secret."""
    wanted, arguments = manifest.part.surroundings, _by_name(manifest)
    env: JsonObject = {
        name: text
        for name, parts in wanted.env
        if (text := filled(parts, values, arguments)) is not None
    }
    shown: JsonObject = {"env": env} if env else {}
    if wanted.env_pass:
        shown["env_pass"] = [*wanted.env_pass]
    for key, parts_ in (("stdin", wanted.stdin), ("cwd", wanted.cwd)):
        if parts_ is not None and (text := filled(parts_, values, arguments)) is not None:
            shown[key] = text
    return shown


def folder_names(manifest: Manifest[CommandPart]) -> frozenset[str]:
    """Return the argument that names the working folder, if one does."""
    return frozenset(part.name for part in manifest.part.surroundings.cwd or () if part.name)


def working_folder(
    manifest: Manifest[CommandPart], bound: BoundArguments, root: Path
) -> tuple[Path, tuple[Problem, ...]]:
    """Return the folder that a call runs in, or why it cannot.

    It is in the root, whatever links say; the other paths of the call are relative to it.
    """
    parts = manifest.part.surroundings.cwd
    if parts is None or bound.problems:
        return root, ()
    path = filled(parts, bound.values, _by_name(manifest))
    if path is None:
        return root, ()
    if why := folder_problem(root, path):
        name = parts[0].name
        pointer, what = (f"/{name}", why) if name else ("", f"the working folder {path} {why}")
        return root, (Problem(pointer=pointer, message=what),)
    return (root / path).resolve(), ()


def _by_name(manifest: Manifest[CommandPart]) -> dict[str, Argument]:
    return {argument.name: argument for argument in manifest.arguments}
