"""The keys of a ``*.clad.toml`` file, with their types, that every backend shares.

The format is ToolClad's (``docs/manifests.md``). ``effect``, ``limits``, ``sandbox``, ``probe``,
``success_exit``, ``[[examples]]`` and groups in ``exec`` are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from artificer.contracts.arguments.keys import DeclaredArgument
from artificer.contracts.definition import CedarKeys, EffectClass, Risk, Trust
from artificer.values.canon import MAX_SAFE_INTEGER
from artificer.values.keys import KeyTable

MAX_TIMEOUT_SECONDS = 24 * 60 * 60

PLACES = ("_scan_id", "_evidence_dir", "_output_file")
"""Placeholders whose values are made for each call: its id, its folder, a file in that folder."""

KEY_PLACE = "_idempotency_key"
"""The placeholder of a call's idempotency key."""

TOKEN_PLACE = "_fencing_token"
"""The placeholder of a call's fencing token."""

CALL_PLACES = (KEY_PLACE, TOKEN_PLACE)
"""Placeholders whose values come with each call, and with its probe."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
FilledText = Annotated[str, Field(min_length=1)]
PositiveCount = Annotated[int, Field(gt=0, le=MAX_SAFE_INTEGER)]
InnerPath = Annotated[str, Field(pattern=r"^(\.|[^/~.\x00][^/\x00]*(/[^/.\x00][^/\x00]*)*)$")]
"""A path below a folder, or the folder: no part of it begins with a dot, but for ``.`` alone."""

SafeInteger = Annotated[int, Field(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
Seconds = Annotated[int, Field(gt=0, le=MAX_TIMEOUT_SECONDS)]
Status = Annotated[int, Field(ge=100, le=599)]


class EvidenceKeys(KeyTable):
    """``[tool.evidence]``

    A call's evidence always lies in the project's folder: ``output_dir`` is read for the format's
    sake. With ``capture`` the whole raw output is kept as blobs, however short it is.
    """

    output_dir: str = ""
    capture: bool = False
    hash: Literal["sha256"] = "sha256"
    screenshots: bool = False


class LimitKeys(KeyTable):
    """``[tool.limits]``: what the program and each of its children may use.

    ``memory_mb`` is address space in MiB, ``cpu_seconds`` processor time, ``files`` open files,
    ``file_mb`` the size in MiB of one written file.
    """

    memory_mb: PositiveCount | None = None
    cpu_seconds: PositiveCount | None = None
    files: PositiveCount | None = None
    file_mb: PositiveCount | None = None


class SandboxKeys(KeyTable):
    """``[tool.sandbox]``: less than the operator grants, never more.

    With ``required`` the program is not run without a sandbox. Without ``network`` it has none.
    ``writable`` names the folders that it writes in, below the one that it runs in; everything
    that is granted when it is not given.
    """

    required: bool = False
    network: bool = True
    writable: tuple[InnerPath, ...] | None = None


class ProbeKeys(KeyTable):
    """``[tool.probe]``: how the world is asked whether a call happened, after a crash.

    A command (``exec`` or ``template``) or a request (``url``), as the tool itself is one. What it
    exits with, or is answered, says whether the call happened or not; anything else is unknown.
    With ``fenced`` the target keeps the highest fencing token that it has seen for each idempotency
    key, and rejects lower ones.
    """

    exec: tuple[str | tuple[str, ...], ...] | None = None
    template: str | None = None
    url: FilledText | None = None
    method: Literal["GET", "HEAD"] = "GET"
    headers: dict[str, str] = Field(default_factory=dict)
    happened_exit: tuple[int, ...] = (0,)
    absent_exit: tuple[int, ...] = (1,)
    happened_status: tuple[Status, ...] = (200,)
    absent_status: tuple[Status, ...] = (404,)
    timeout_seconds: Seconds | None = None
    fenced: bool = False


class ToolKeys(KeyTable):
    """``[tool]``

    ``resources`` such as ``file:{path}`` name what a call needs to itself: calls of one turn that
    share one run one after the other, unless all of them are ``pure``.
    """

    name: Name
    version: FilledText
    description: FilledText
    binary: str = ""
    timeout_seconds: Seconds = 60
    risk_tier: Risk = "low"
    human_approval: bool = False
    trust: Trust | None = None
    sensitive: bool = False
    effect: EffectClass = "once"
    resources: tuple[FilledText, ...] = ()
    dispatch: Literal["exec", "callback"] = "exec"
    mode: Literal["oneshot", "session", "browser"] | None = None
    cedar: CedarKeys = CedarKeys()
    evidence: EvidenceKeys = EvidenceKeys()
    limits: LimitKeys = LimitKeys()
    sandbox: SandboxKeys = SandboxKeys()
    probe: ProbeKeys | None = None


class OutputKeys(KeyTable):
    """``[output]``

    ``parser`` is ``builtin:FORMAT`` or a program in the manifest's folder, which gets the path of
    the raw output and prints JSON. Without ``envelope`` a model reads the results alone.
    """

    format: Literal["text", "json", "jsonl", "csv", "xml"] = "text"
    parser: FilledText | None = None
    envelope: bool = True
    result: dict[str, JsonValue] | None = Field(default=None, alias="schema")

    @property
    def script(self) -> str | None:
        """The parser, when it is a program."""
        return None if self.parser is None or ":" in self.parser else self.parser


class ExampleKeys(KeyTable):
    """``[[examples]]``: a call, and what must come of it. ``artificer tools test`` makes it.

    ``contains`` is text that the output must hold; ``argv`` the exact command.
    """

    args: dict[str, JsonValue] = Field(default_factory=dict)
    status: Literal["success", "error", "timeout", "invalid"] = "success"
    contains: str = ""
    argv: tuple[str, ...] | None = None


class ManifestKeys(KeyTable):
    """The keys of a file that every backend shares: all but the section of its backend."""

    tool: ToolKeys
    args: dict[str, DeclaredArgument] = Field(default_factory=dict)
    output: OutputKeys = OutputKeys()
    examples: tuple[ExampleKeys, ...] = ()
