"""The keys of ``[session]`` (``docs/guides/sessions.md``).

``template`` and ``effect`` of a command, and an empty ``ready_pattern``, are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from artificer.contracts.arguments.keys import DeclaredArgument
from artificer.contracts.definition import EffectClass, Risk
from artificer.manifests.keys import Seconds
from artificer.values.keys import KeyTable

CommandName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,48}$")]


class InteractionKeys(KeyTable):
    """``[session.interaction]``

    ``output_max_bytes`` is what is kept of one interaction's output, its beginning and its end.
    ``output_wait_ms`` is the silence after which a program that shows no prompt is taken to have
    said all.
    """

    input_sanitize: tuple[Literal["injection"], ...] = ()
    output_max_bytes: Annotated[int, Field(gt=0, le=2**53 - 1)] = 1024 * 1024
    output_wait_ms: Annotated[int, Field(gt=0, le=600_000)] = 2000


class SessionCommandKeys(KeyTable):
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
    args: dict[str, DeclaredArgument] = Field(default_factory=dict)
    template: Annotated[str, Field(min_length=1)] | None = None
    effect: EffectClass | None = None


class ChildKeys(KeyTable):
    """``[session.child_detection]``: a program within the program, such as a debugger's console.

    It is open once the output matches ``pattern``. ``manifest`` is the file, in the same folder,
    whose ``[session]`` defines the lines it accepts; ``type`` is its name in results.
    """

    pattern: Annotated[str, Field(min_length=1)]
    manifest: Annotated[str, Field(min_length=1)]
    type: str = "child"


EventType = Literal["log_line", "session_opened", "alert", "error"]
EVENT_TYPES: tuple[EventType, ...] = ("log_line", "session_opened", "alert", "error")


class EventKeys(KeyTable):
    """``[session.events]``: what the program writes between two calls, as a queue of lines.

    The next answer hands them over: those of ``event_types``, the newest ``max_queue_depth``, none
    older than ``ttl_seconds``. The program is listened to every ``poll_interval_ms``.
    """

    enabled: bool = True
    max_queue_depth: Annotated[int, Field(gt=0, le=10_000)] = 100
    poll_interval_ms: Annotated[int, Field(ge=50, le=60_000)] = 500
    event_types: tuple[EventType, ...] = EVENT_TYPES
    ttl_seconds: Seconds = 300


class SessionKeys(KeyTable):
    """``[session]``: a program that is started once for a run, and spoken to line by line.

    It is ready for a line when its last, unfinished line matches ``ready_pattern``; with an empty
    pattern, when it is silent. ``session_timeout_seconds`` and ``max_interactions`` hold for the
    whole run. Only a session that another one opens has no ``startup_command``.
    """

    startup_command: str = ""
    ready_pattern: str
    startup_timeout_seconds: Seconds = 30
    idle_timeout_seconds: Seconds = 300
    session_timeout_seconds: Seconds = 1800
    max_interactions: Annotated[int, Field(gt=0, le=100_000)] = 100
    interaction: InteractionKeys = InteractionKeys()
    child_detection: ChildKeys | None = None
    events: EventKeys | None = None
    commands: dict[CommandName, SessionCommandKeys] = Field(default_factory=dict)
