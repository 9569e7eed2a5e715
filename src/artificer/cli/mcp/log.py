"""Log messages about an MCP client's calls. Protocols since 2026-07-28 have none.

The level belongs to the server and all its clients: ``warning`` until one of them sets another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from artificer.core.record import EventLine, IntentLine
from artificer.runtime.watching.observe import Observer

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.types import EmptyResult, LoggingLevel, SetLevelRequestParams

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

LOGGER = "artificer"


class ClientLog:
    """Sends messages that are at least as severe as the level."""

    def __init__(self) -> None:
        self._level: LoggingLevel = "warning"

    async def set_level(
        self, ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams
    ) -> EmptyResult:
        """Perform ``logging/setLevel``."""
        from mcp.types import EmptyResult

        self._level = params.level
        return EmptyResult()

    async def send(
        self, ctx: ServerRequestContext[Any, Any], level: LoggingLevel, run: str, message: str
    ) -> None:
        """Send one message about a run, on the stream of the call that it is about."""
        from mcp.types import LoggingMessageNotification, LoggingMessageNotificationParams
        from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

        if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return
        if LEVELS.index(level) < LEVELS.index(self._level):
            return
        params = LoggingMessageNotificationParams(
            level=level, logger=LOGGER, data={"run": run, "message": message}
        )
        await ctx.session.send_notification(
            LoggingMessageNotification(params=params), ctx.request_id
        )


class Records(Observer):
    """Collects the records of a run until they are sent."""

    def __init__(self) -> None:
        self._noted: list[str] = []

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Note one record."""
        name = line.event.type if isinstance(line, EventLine) else line.intent.type
        self._noted.append(f"record {line.seq}: {name}")

    def take(self) -> list[str]:
        """Return the records since the last call."""
        taken, self._noted = self._noted, []
        return taken
