"""Trying things out for ``artificer doctor``: the journal, and a model."""

from __future__ import annotations

import asyncio
import time

from artificer.archive import Archive
from artificer.cli.common.progress import Progress
from artificer.cli.terminal.console import one_line
from artificer.cli.terminal.screen import Screen
from artificer.cli.terminal.words import FAILURES, count, duration
from artificer.config import Config
from artificer.core.spec import Limits
from artificer.errors import ArtificerError
from artificer.world import World

PATIENCE_S = 60
"""How long a model may take over one word; the embedded one must be loaded first."""


class _Silent(Screen):
    """Shows nothing."""

    def line(self, text: str, style: str | None = None) -> None:
        """Nothing."""


async def journal_finding(config: Config) -> tuple[bool | None, str]:
    """Open the project's journal, if there is one, and count its runs. Makes nothing."""
    try:
        async with await Archive.open(config) as world:
            runs = await world.runs()
    except ArtificerError as error:
        return False, error.message
    if not runs:
        return None, "none yet: the first run makes it"
    return True, f"{count(len(runs), 'run')}, durability {config.durability}"


async def ask_model(config: Config, model: str) -> tuple[bool, str]:
    """Ask a model for one word, in a world that is thrown away. Returns whether it answered."""
    progress = Progress(_Silent())
    started = time.monotonic()
    try:
        bare = config.model_copy(update={"tools": ()})
        async with asyncio.timeout(PATIENCE_S), World.in_memory(bare) as world:
            run = await world.run(
                "Reply with the single word: ready",
                model=model,
                system="",
                limits=Limits(turns=1, max_tokens=64),
                observer=progress,
            )
    except TimeoutError:
        return False, f"no answer within {PATIENCE_S} s"
    except ArtificerError as error:
        return False, f"{error.message} {error.hint or ''}".rstrip()
    if run.failure:
        said = progress.failure.message if progress.failure else ""
        return False, f"{FAILURES[run.failure]}: {said}"
    took = duration(round((time.monotonic() - started) * 1000))
    return True, f"answered {one_line(run.text, 40)!r} in {took}"
