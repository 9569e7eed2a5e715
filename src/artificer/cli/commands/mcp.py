"""The command that serves tools to MCP clients."""

from __future__ import annotations

from pathlib import Path

from artificer.cli.commands.numbers import WholeOption
from artificer.cli.commands.shared import FOLDER
from artificer.cli.declare import Command, option, options


@options
class McpOptions:
    """Serve tools to an MCP client over stdin and stdout, or on a port of this machine.

    The tools are those of --tools and of artificer.toml. Every call is a run: checked by the
    project's policy, recorded, replayable. If the policy says `ask`, the client's user is asked,
    provided that the client supports it (elicitation); otherwise the call is denied. Manifests and
    the evidence of a client's calls are resources.

    \b
    Examples:
      artificer mcp --tools ./tools
      artificer mcp --tools ./tools --artifacts --http 8000
    """

    tools: tuple[Path, ...] = option(
        type=FOLDER, multiple=True, help="A folder of *.clad.toml manifests."
    )
    artifacts: bool = option(is_flag=True, help="Also serve the create_* tools.")
    port: int | None = option(
        "--http", type=WholeOption(1, 65535), help="Serve on this port instead of stdio."
    )
    compat: bool = option(
        is_flag=True, help="Read manifests as leniently as the format's reference."
    )


mcp = Command("mcp", McpOptions, "mcp.serve:serve")
