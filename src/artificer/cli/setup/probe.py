"""The checks of ``artificer doctor`` that open the journal or ask a model."""

from __future__ import annotations

import asyncio
import time

from artificer.agent import Agent
from artificer.archive import Archive
from artificer.cli.execution.progress import Progress
from artificer.cli.terminal.console import one_line
from artificer.cli.terminal.screen import Screen
from artificer.cli.terminal.words import count, duration
from artificer.config import Config
from artificer.core.spec import Limits
from artificer.errors import ArtificerError
from artificer.values.failure_words import FAILURES
from artificer.world import World

TIMEOUT_S = 60
"""Seconds that a model has for one word; the embedded one must be loaded first."""


class _SilentScreen(Screen):
    """A screen that shows nothing."""

    def line(self, text: str, style: str | None = None) -> None:
        """Show nothing."""


async def journal_finding(config: Config) -> tuple[bool | None, str]:
    """Open the project's journal, if it exists, and count its runs. Creates nothing."""
    try:
        async with Archive.open(config) as world:
            runs = await world.runs()
    except ArtificerError as error:
        return False, error.message
    if not runs:
        return None, "none yet: the first run creates it"
    return True, f"{count(len(runs), 'run')}, durability {config.durability}"


async def ask_model(config: Config, model: str) -> tuple[bool, str]:
    """Ask a model for one word, in a temporary world. Return whether it answered."""
    progress = Progress(_SilentScreen())
    started = time.monotonic()
    try:
        bare = config.replace(tools=())
        async with asyncio.timeout(TIMEOUT_S), World.in_memory(bare) as world:
            run = await world.run(
                "Reply with the single word: ready",
                Agent(model=model, instructions="", limits=Limits(turns=1, max_tokens=64)),
                observer=progress,
            )
    except TimeoutError:
        return False, f"no answer within {TIMEOUT_S} s"
    except ArtificerError as error:
        return False, f"{error.message} {error.hint or ''}".rstrip()
    if run.failure:
        message = progress.failure.message if progress.failure else ""
        return False, f"{FAILURES[run.failure]}: {message}"
    took = duration(round((time.monotonic() - started) * 1000))
    return True, f"answered {one_line(run.text, 40)!r} in {took}"
