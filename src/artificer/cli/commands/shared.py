"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from artificer.cli.commands.candidates import run_argument
from artificer.cli.commands.numbers import RealOption, WholeOption
from artificer.cli.declare import option, options

FOLDER = click.Path(file_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
DOLLARS = RealOption(min=0.000_001, max=1_000_000)
POSITIVE = WholeOption(1)
MOMENT = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"])


def json_flag(help_text: str) -> Any:
    """Declare ``--json``, the field ``as_json``."""
    return option("--json", is_flag=True, help=help_text)


@options
class RunOption:
    """The run that a command is about."""

    run: str = run_argument()


@options
class RunAsJson(RunOption):
    """The run that a command prints, perhaps as JSON."""

    as_json: bool = json_flag("Print a JSON object.")


@options
class OutcomeOptions:
    """The form in which a run's outcome is delivered."""

    out: Path | None = option(
        type=FOLDER, help="Also write report.html, report.md and artifacts to this folder."
    )
    as_json: bool = json_flag("Print the outcome as one JSON object.")


@options
class ExecutionOptions:
    """Settings that a command overrides while it executes a run."""

    local_model: Path | None = option(
        type=EXISTING_FILE, help="The GGUF file of the provider `local`."
    )
    compat: bool = option(
        is_flag=True, help="Read manifests as leniently as the format's reference."
    )


@options
class AttachOption:
    """Files that go with a message to the model."""

    attach: tuple[Path, ...] = option(
        type=EXISTING_FILE,
        metavar="FILE",
        multiple=True,
        help="Attach an image, a sound, a PDF or a text; repeatable.",
    )


@options
class AgentOption:
    """An agent that a Python program defines."""

    agent: str | None = option(
        metavar="MODULE:NAME",
        help="An Agent in a Python module, here or installed; other options override its fields.",
    )


@options
class ToolFolders:
    """Folders of manifests of a recorded run."""

    tools: tuple[Path, ...] = option(
        type=FOLDER, multiple=True, help="The new location of a tool folder that was moved."
    )


@options
class UnattendedOption:
    """The answer where nobody can be asked."""

    unattended: bool = option(
        is_flag=True, help="Deny calls that need approval instead of waiting."
    )


@options
class ReplyLimit:
    """The limit of one reply."""

    max_tokens: int | None = option(
        type=POSITIVE,
        help="Limit on the tokens of one reply. Default: the model's limit, within the budget.",
    )


@options
class SamplingOptions:
    """Settings of the model, in every turn."""

    temperature: float | None = option(
        type=RealOption(0, 1000, max_open=True), help="Sampling temperature; 0 varies least."
    )
    top_p: float | None = option(
        type=RealOption(0, 1, min_open=True), help="Sample from this share of likely tokens."
    )
    seed: int | None = option(
        type=WholeOption(0), help="Sampling seed, if the server supports one."
    )
    reasoning: str | None = option(
        metavar="EFFORT", help="low, medium, high, or a number of reasoning tokens."
    )


@options
class ReasonOption:
    """The reason that is recorded with a signal."""

    reason: str = option(default="", help="The reason; it is recorded.")
