"""``artificer run``: a prompt to its end."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

import click

from artificer.cli.common.attend import COMPAT, FOLDER, MODEL_FILE, UNATTENDED, attend
from artificer.cli.common.limits import MAX_TOKENS, limits_said
from artificer.cli.common.outcome import Wish
from artificer.cli.common.progress import Progress
from artificer.cli.common.prompt import read_prompt
from artificer.cli.common.settings import Settings, pass_settings
from artificer.contracts.capabilities import Facilities, Grant, Host
from artificer.contracts.response_format import MAX_SCHEMA
from artificer.contracts.workspace_names import name_fault
from artificer.core.kinds import ASKED, RunKind
from artificer.core.spec import Limits
from artificer.ports import Approver
from artificer.runs import Run
from artificer.values.base import JsonObject
from artificer.values.model import ToolChoice
from artificer.values.strict_json import parse_value
from artificer.world import World

EXISTING = click.Path(exists=True, file_okay=False, path_type=Path)
SCHEMA = click.Path(exists=True, dir_okay=False, path_type=Path)
DOLLARS = click.FloatRange(min=0.000_001, max=1_000_000)


@click.command(name="run")
@click.argument("prompt")
@click.option("--model", metavar="PROVIDER/MODEL", help="For example local/smollm2.")
@click.option(
    "--kind",
    type=click.Choice(ASKED),
    help="deliver makes a report, the default; chat only answers.",
)
@click.option("--tools", type=FOLDER, multiple=True, help="A folder of *.clad.toml manifests.")
@click.option("--offer", metavar="TOOL", multiple=True, help="Offer only this tool; repeatable.")
@click.option("--allow", metavar="GLOB", multiple=True, help="Deny all other tools; repeatable.")
@click.option("--folder", type=EXISTING, help="Let the run read and change files in here.")
@click.option(
    "--workspace",
    "workspaces",
    metavar="NAME",
    multiple=True,
    help="Let the run read and change this workspace; repeatable.",
)
@click.option("--introspect", is_flag=True, help="Let the run look at itself.")
@click.option("--system", metavar="TEXT", help="Instructions in place of the built-in ones.")
@click.option(
    "--choice",
    "choices",
    metavar="WORD",
    multiple=True,
    help="auto, none, required or a tool's name, turn by turn; the last one stays.",
)
@click.option("--schema", type=SCHEMA, help="Answer with JSON that fits this JSON Schema.")
@click.option("--out", type=FOLDER, help="Write report.html, report.md and artifacts here too.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.option("--local-model", type=MODEL_FILE, help="A GGUF file for the provider `local`.")
@COMPAT
@click.option("--max-turns", type=click.IntRange(1), help="Model requests. Default: 24, chat 15.")
@MAX_TOKENS
@click.option("--max-cost", type=DOLLARS, help="Dollars; needs a price in artificer.toml.")
@UNATTENDED
@pass_settings
def command(
    settings: Settings,
    prompt: str,
    model: str | None,
    kind: RunKind | None,
    tools: tuple[Path, ...],
    offer: tuple[str, ...],
    allow: tuple[str, ...],
    folder: Path | None,
    workspaces: tuple[str, ...],
    introspect: bool,
    system: str | None,
    choices: tuple[str, ...],
    schema: Path | None,
    out: Path | None,
    as_json: bool,
    local_model: Path | None,
    compat: bool,
    max_turns: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    unattended: bool,
) -> int:
    """Run PROMPT to its end; `-` reads it from stdin.

    A report is printed as two paths, report.html and report.md; a chat as its text; with --schema
    the JSON alone, and nothing when there is none. Progress goes to stderr. Ctrl-C leaves a run
    that `artificer resume` finishes. Where the policy of artificer.toml says `ask`, you are asked
    at the terminal; without one the run waits for `artificer approve`.

    \b
    Examples:
      artificer run "Compare three kinds of tea" --model anthropic/claude-sonnet-4-5
      artificer run --kind chat --model local/smollm2 "Say hello"
      artificer run --schema person.json "Ada Lovelace, born 1815" | jq .name
      git log -20 | artificer run - --tools ./tools --out ./report
    """
    text = read_prompt(prompt)
    asked = None if schema is None else _schema(schema)
    said = limits_said(max_turns, max_tokens, max_cost)

    def begin(world: World, progress: Progress, approver: Approver | None) -> Awaitable[Run]:
        return world.run(
            text,
            model=model,
            kind=kind or ("chat" if asked else "deliver"),
            tools=tools,
            offer=offer or None,
            policy=world.config.policy.narrowed(allow) if allow else None,
            facilities=_facilities(world.config.facilities, folder, workspaces, introspect),
            system=system,
            choices=tuple(_choice(word) for word in choices),
            response_format=asked,
            limits=Limits.model_validate(said) if said else None,
            approver=approver,
            observer=progress,
        )

    return attend(
        settings, begin, Wish(out, as_json), local_model, compat=compat, unattended=unattended
    )


def _facilities(
    configured: Facilities, folder: Path | None, workspaces: tuple[str, ...], introspect: bool
) -> Facilities:
    """What is configured, with what the command line says in its place."""
    said: dict[str, object] = {}
    if folder is not None:
        host = configured.host or Host(folder=".")
        said["host"] = host.model_copy(update={"folder": str(folder)})
    for name in workspaces:
        if fault := name_fault(name):
            raise click.UsageError(f"The workspace's name {name!r} {fault}.")
    if workspaces:
        said["workspaces"] = (Grant(names=workspaces),)
    if introspect:
        said["introspect"] = True
    return configured.model_copy(update=said)


def _schema(path: Path) -> JsonObject:
    """The JSON Schema in a file. Raises UsageError."""
    data = path.read_bytes()
    if len(data) > MAX_SCHEMA:
        raise click.UsageError(f"{path} is longer than {MAX_SCHEMA} bytes.")
    schema = parse_value(data.decode(errors="replace"))
    if isinstance(schema, tuple):
        raise click.UsageError(f"{path} is no JSON Schema: {schema[0].message}.")
    if not isinstance(schema, dict):
        raise click.UsageError(f"{path} is no JSON Schema: it must be a JSON object.")
    return schema


def _choice(word: str) -> ToolChoice:
    match word:
        case "auto" | "none" | "required":
            return ToolChoice(mode=word)
        case _:
            return ToolChoice(mode="tool", name=word)
