"""The commands that start runs and continue them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from artificer.cli.commands.candidates import models_option, run_argument, run_option, tool_option
from artificer.cli.commands.numbers import WholeOption
from artificer.cli.commands.shared import (
    DOLLARS,
    EXISTING_FILE,
    EXISTING_FOLDER,
    FOLDER,
    POSITIVE,
    AgentOption,
    AttachOption,
    ExecutionOptions,
    OutcomeOptions,
    ReplyLimit,
    RunOption,
    SamplingOptions,
    ToolFolders,
    UnattendedOption,
)
from artificer.cli.declare import Command, argument, option, options


@options
class RunOptions(
    AttachOption,
    SamplingOptions,
    ReplyLimit,
    OutcomeOptions,
    AgentOption,
    ExecutionOptions,
    UnattendedOption,
):
    """Run PROMPT until it is finished. Without PROMPT, or with `-`, it is read from stdin.

    Piped input is appended to PROMPT, after an empty line.

    For a report, the paths of report.html and report.md are printed; for a chat, its text; with
    --schema only the JSON, or nothing if there is none. Progress goes to stderr. Ctrl-C leaves a
    run that `artificer resume` continues. When the policy in artificer.toml says `ask`, you are
    asked at the terminal; without a terminal the run waits for `artificer approve`.

    \b
    Examples:
      artificer run "Compare three kinds of tea" --model anthropic/claude-sonnet-5-5
      artificer run --kind chat --model local/smollm2 "Say hello"
      artificer run "Say hello" --model openai/gpt-5-mini --model local/smollm2
      artificer run --schema person.json "Ada Lovelace, born 1815" | jq .name
      git log -20 | artificer run "What changed?" --tools ./tools --out ./report
      artificer run --agent triage:agent < issue.txt
      artificer run "What is in this picture?" --attach cat.png
      artificer run "Sort the inbox" --agent triage:agent --submit
    """

    prompt: str | None = argument(required=False)
    model: tuple[str, ...] = models_option("For example local/smollm2.")
    kind: Literal["chat", "deliver"] | None = option(
        type=click.Choice(("deliver", "chat")),
        help="deliver writes a report (default); chat only answers.",
    )
    tools: tuple[Path, ...] = option(
        type=FOLDER, multiple=True, help="A folder of *.clad.toml manifests."
    )
    offer: tuple[str, ...] = tool_option(
        multiple=True, help="Offer the model only this tool; repeatable."
    )
    allow: tuple[str, ...] = option(
        metavar="GLOB", multiple=True, help="Deny calls of all other tools; repeatable."
    )
    folder: Path | None = option(
        type=EXISTING_FOLDER, help="Give the model access to the files in this folder."
    )
    workspaces: tuple[str, ...] = option(
        "--workspace",
        metavar="NAME",
        multiple=True,
        help="Give the model access to this workspace; repeatable.",
    )
    introspect: bool = option(
        is_flag=True, help="Give the model read-only tools for inspecting its own run."
    )
    system: str | None = option(
        metavar="TEXT", help="System prompt. Default: the built-in instructions."
    )
    choices: tuple[str, ...] = option(
        "--choice",
        metavar="WORD",
        multiple=True,
        help="auto, none, required or a tool's name, one per turn; the last one repeats.",
    )
    schema: Path | None = option(
        type=EXISTING_FILE, help="Answer with JSON that matches this JSON Schema."
    )
    max_turns: int | None = option(
        type=POSITIVE, help="Limit on model requests. Default: 24, chat 15."
    )
    max_cost: float | None = option(
        type=DOLLARS, help="Limit in dollars; requires a known price for the model."
    )
    submit: bool = option(
        is_flag=True, help="Let `artificer worker` execute the run; print its id at once."
    )
    priority: int | None = option(
        type=WholeOption(1, 5), help="With --submit: 1 is first, 5 last. Default: 3."
    )
    tenant: str | None = option(
        metavar="NAME", help="With --submit: runs of the same priority take turns by tenant."
    )
    lane: str | None = option(
        metavar="NAME", help="With --submit: a group of runs with its own limit."
    )


@options
class ChatOptions(SamplingOptions, ReplyLimit, AgentOption, ExecutionOptions):
    """Chat with a model in the terminal; PROMPT, if given, is the first message.

    Text is streamed. When the policy says `ask`, you are asked. Ctrl-C interrupts a reply
    and keeps the conversation; Ctrl-D ends it. Lines that begin with a slash are commands: /help
    lists them.

    \b
    Examples:
      artificer chat --model anthropic/claude-sonnet-5-5
      artificer chat "What is in this folder?" --folder .
      artificer chat --resume last
    """

    prompt: str | None = argument(required=False)
    model: tuple[str, ...] = models_option("For example local/smollm2.")
    resume: str | None = run_option(metavar="RUN", help="Continue this conversation.")
    tools: tuple[Path, ...] = option(
        type=FOLDER, multiple=True, help="A folder of *.clad.toml manifests."
    )
    folder: Path | None = option(
        type=EXISTING_FOLDER, help="Give the model access to the files in this folder."
    )
    system: str | None = option(metavar="TEXT", help="System prompt.")


@options
class ResumeOptions(ToolFolders, OutcomeOptions, AgentOption, ExecutionOptions, UnattendedOption):
    """Continue RUN after Ctrl-C, a crash, or a model that could not be reached.

    Nothing recorded is done twice: no model reply is paid for again, and a call that may have been
    executed is repeated only if its tool declares that this is safe. If the run is finished, its
    result is printed again. If a living process executes the run, the command fails and names it.

    \b
    Example:
      artificer resume last
    """

    run: str = run_argument()
    yes: bool = option(is_flag=True, help="Approve the plan of a build without showing it.")
    take_over: bool = option(
        is_flag=True,
        help="Take RUN from a living process. Its unfinished calls become ambiguous, except pure"
        " ones.",
    )
    total_tokens: int | None = option(
        type=POSITIVE,
        metavar="N",
        help="Limit on the tokens of all runs of a build, including those already used.",
    )


@options
class FollowUpOptions(
    AttachOption, ToolFolders, OutcomeOptions, AgentOption, ExecutionOptions, UnattendedOption
):
    """Send PROMPT to the conversation of RUN, with the same model, tools and artifacts.

    Without PROMPT, or with `-`, it is read from stdin; piped input is appended to PROMPT.

    Limits on turns and repairs start again; limits on tokens and cost apply to the whole run. A run
    that is not finished is resumed first.

    \b
    Example:
      artificer follow-up last "Now the same for green tea."
      artificer follow-up last "And in this one?" --attach dog.png
    """

    run: str = run_argument()
    prompt: str | None = argument(required=False)


@options
class ForkOptions(
    AttachOption, ReplyLimit, ToolFolders, AgentOption, OutcomeOptions, ExecutionOptions, RunOption
):
    """Start a new run from a copy of RUN's records, up to a record, and let it run to its end.

    Copies records up to the last point where every tool call has a result. If SEQ is mid-turn, the
    previous such point is used and reported. Without --at it is the last such point, or the first
    that contains what you change. RUN is not changed, no tool is executed twice, and the fork can
    be replayed like any other run.

    \b
    Examples:
      artificer fork last --model anthropic/claude-opus-4-5
      artificer fork last --at 9 --steer "Use euros."
      artificer fork last --edit 7='{"status": "error"}'
      artificer diff RUN last
    """

    at: int | None = option(type=POSITIVE, metavar="SEQ", help="The last record to copy.")
    model: tuple[str, ...] = models_option("Continue with another model.")
    prompt: str | None = option(
        metavar="TEXT", help="Another prompt; without --at, nothing after the prompt is copied."
    )
    system: str | None = option(
        metavar="TEXT",
        help="Another system prompt; without --at, nothing after the prompt is copied.",
    )
    edits: tuple[str, ...] = option(
        "--edit",
        metavar="SEQ=TEXT",
        multiple=True,
        help="Replace the tool result in record SEQ; SEQ=@FILE reads a file. Repeatable.",
    )
    steer: str = option(
        metavar="TEXT", default="", help="A message to the model before it continues."
    )
    max_turns: int | None = option(
        type=POSITIVE, help="Limit on model requests, including the copied ones."
    )


chat = Command("chat", ChatOptions, "chat.chat:chat")
run = Command("run", RunOptions, "run.run:run")
resume = Command("resume", ResumeOptions, "run.resume:resume")
follow_up = Command("follow-up", FollowUpOptions, "run.follow_up:follow_up")
fork = Command("fork", ForkOptions, "run.fork:fork")
