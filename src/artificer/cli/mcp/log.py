"""Telling an MCP client how its calls go, as log messages. Since 2026-07-28 there are none.

The level is that of the server, for all its clients: ``warning`` until one of them sets another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from artificer.core.record import EventLine, IntentLine
from artificer.runtime.observe import Observer

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.types import EmptyResult, LoggingLevel, SetLevelRequestParams

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

LOGGER = "artificer"


class ClientLog:
    """Sends what is at least as severe as the level."""

    def __init__(self) -> None:
        self._level: LoggingLevel = "warning"

    async def set_level(
        self, ctx: ServerRequestContext[Any, Any], params: SetLevelRequestParams
    ) -> EmptyResult:
        """Perform ``logging/setLevel``."""
        from mcp.types import EmptyResult

        self._level = params.level
        return EmptyResult()

    async def tell(
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
    """Notes the records of a run until they are told."""

    def __init__(self) -> None:
        self._noted: list[str] = []

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Note one record."""
        what = line.event.type if isinstance(line, EventLine) else line.intent.type
        self._noted.append(f"record {line.seq}: {what}")

    def take(self) -> list[str]:
        """What was noted since this was last called."""
        taken, self._noted = self._noted, []
        return taken
