"""What ``[session]`` of a manifest may say (``docs/guides/sessions.md``).

``template`` and ``effect`` of a command, and an empty ``ready_pattern``, are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from artificer.contracts.arguments.types import Argument
from artificer.contracts.definition import EffectClass, Risk
from artificer.values.base import Value

Seconds = Annotated[int, Field(gt=0, le=24 * 60 * 60)]
CommandName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,48}$")]


class InteractionKeys(Value):
    """``[session.interaction]``

    ``output_max_bytes`` is what is kept of one interaction's output, its beginning and its end.
    ``output_wait_ms`` is the silence after which a program that shows no prompt is taken to have
    said all.
    """

    input_sanitize: tuple[Literal["injection"], ...] = ()
    output_max_bytes: Annotated[int, Field(gt=0, le=2**53 - 1)] = 1024 * 1024
    output_wait_ms: Annotated[int, Field(gt=0, le=600_000)] = 2000


class SessionCommandKeys(Value):
    """``[session.commands.NAME]``

    Without ``args`` the tool takes one ``command``, a line that matches ``pattern`` as a whole.
    With ``args`` their values are put into ``template``, and the line that this makes must match
    ``pattern``, where there is one. Risk and effect are those of ``[tool]`` unless they are given.
    """

    pattern: str | None = None
    description: Annotated[str, Field(min_length=1)]
    risk_tier: Risk | None = None
    human_approval: bool = False
    extract_target: bool = False
    args: dict[str, Argument] = Field(default_factory=dict)
    template: Annotated[str, Field(min_length=1)] | None = None
    effect: EffectClass | None = None


class SessionKeys(Value):
    """``[session]``: a program that is started once for a run, and spoken to line by line.

    It is ready for a line when its last, unfinished line matches ``ready_pattern``; with an empty
    pattern, when it is silent. ``session_timeout_seconds`` and ``max_interactions`` hold for the
    whole run.
    """

    startup_command: Annotated[str, Field(min_length=1)]
    ready_pattern: str
    startup_timeout_seconds: Seconds = 30
    idle_timeout_seconds: Seconds = 300
    session_timeout_seconds: Seconds = 1800
    max_interactions: Annotated[int, Field(gt=0, le=100_000)] = 100
    interaction: InteractionKeys = InteractionKeys()
    commands: Annotated[dict[CommandName, SessionCommandKeys], Field(min_length=1)]
