"""The commands about the policy of a project."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path

import click

from artificer.cli.commands.candidates import model_option, tool_argument, tool_option
from artificer.cli.commands.shared import EXISTING_FOLDER, json_flag
from artificer.cli.declare import Command, option, options

KINDS = ("chat", "deliver", "plan", "spec", "phase", "code", "judge", "build")


@options
class PolicyOptions:
    """The tools that the policy is applied to, and the form of the output."""

    tools: tuple[Path, ...] = option(
        type=EXISTING_FOLDER, multiple=True, help="An additional folder of manifests."
    )
    as_json: bool = json_flag("Print one JSON object.")


@options
class CheckPolicyOptions(PolicyOptions):
    """Read the rules and the Cedar policies as a run would, and list them.

    A rule that can never match is an error: it names no tool of this project, or an argument that
    none of its tools has, or its glob is written as a regular expression. So is a Cedar policy
    about an entity that no call has. A rule that no call can reach is a warning.

    \b
    Example:
      artificer policy check
      artificer policy check --tools tools --json
    """


@options
class ExplainPolicyOptions(PolicyOptions):
    """Show how the gate would decide about a call of TOOL, by which rule and why. Nothing runs.

    TOOL is a tool of this project: of its manifests, its MCP servers, or a create_* tool.

    \b
    Example:
      artificer policy explain git_log --args '{"count": 3}'
      artificer policy explain mail.send --after web.fetch --json
    """

    tool: str = tool_argument()
    arguments: str = option("--args", metavar="JSON", default="{}", help="The arguments.")
    kind: str = option(type=click.Choice(KINDS), default="deliver", show_default=True)
    model: str | None = model_option(help="The model, for Cedar policies.")
    after: str | None = tool_option(help="Assume that this untrusted tool has returned before.")


policy = click.Group(
    "policy",
    help=cleandoc(
        """Check the rules of artificer.toml, and explain how they decide about a call.

        \b
        Example:
          artificer policy check
          artificer policy explain git_log --args '{"count": 3}'
        """
    ),
    commands=[
        Command("check", CheckPolicyOptions, "tools.policy:check"),
        Command("explain", ExplainPolicyOptions, "tools.policy:explain"),
    ],
)
