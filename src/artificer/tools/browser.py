"""Performing the calls of ``[browser]`` tools: one browser for each run and manifest."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from artificer.contracts.browser.envelope import BrowserEnvelope, BrowserOutcome
from artificer.contracts.browser.model import browser_definitions
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.definition import toolset as toolset_of
from artificer.contracts.evidence import MAX_EVIDENCE
from artificer.contracts.keys.browser import Action, BrowserKeys
from artificer.contracts.keys.manifest import ToolKeys
from artificer.contracts.manifest.model import Manifest
from artificer.errors import BugError, OperatorError
from artificer.ports import BlobStore, Call, Receipt
from artificer.tools.browser_page import ActionError, BrowserPage
from artificer.tools.command import child_environment
from artificer.values.blocks import CallStatus


class BrowserExecutor:
    """Performs actions in browsers. The first call of a run starts one, :meth:`release` ends it.

    Pictures and long results are kept in ``blobs``.
    """

    def __init__(self, manifests: Sequence[Manifest], *, blobs: BlobStore) -> None:
        """Raises ToolDefinitionError when two tools share a name."""
        self._blobs = blobs
        self._actions: dict[str, tuple[ToolKeys, BrowserKeys, Action]] = {}
        found: list[ToolDefinition] = []
        for manifest in manifests:
            if manifest.browser is None:
                raise BugError(f"The tool {manifest.tool.name!r} is no browser.")
            for action, tool in browser_definitions(manifest.tool, manifest.browser).items():
                self._actions[tool.name] = (manifest.tool, manifest.browser, action)
                found.append(tool)
        self._definitions = toolset_of(tuple(found)).tools
        self._visits: dict[tuple[str, str], _Visit] = {}

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the given order."""
        return self._definitions

    async def execute(self, call: Call) -> Receipt:
        """Perform one action within the call's time, after those that were called before it."""
        found = self._actions.get(call.definition.name)
        if found is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        tool, keys, action = found
        return await self._visit(call.run, tool, keys).perform(call, action)

    def recall(self, run: str, tools: frozenset[str]) -> None:
        """Say that tools were used in the run by a process that is gone, and their page too."""
        for name in tools & set(self._actions):
            tool, keys, _ = self._actions[name]
            self._visit(run, tool, keys).lost = "it ended when the run was interrupted"

    async def release(self, run: str) -> None:
        """End the run's browsers."""
        mine = [key for key in self._visits if key[0] == run]
        await asyncio.gather(*(self._visits.pop(key).end() for key in mine))

    def _visit(self, run: str, tool: ToolKeys, keys: BrowserKeys) -> _Visit:
        return self._visits.setdefault((run, tool.name), _Visit(tool, keys, self._blobs))


@dataclass
class _Visit:
    """What one run does in one browser, action by action; the limits hold for all of it."""

    tool: ToolKeys
    keys: BrowserKeys
    blobs: BlobStore
    lost: str | None = None
    _page: BrowserPage | None = None
    _watch: asyncio.Task[None] | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _count: int = 0
    _began: float | None = None
    _used: float = 0.0

    async def perform(self, call: Call, action: Action) -> Receipt:
        """Perform an action, whatever it brings."""
        began = time.monotonic()
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        async with self._lock:
            try:
                envelope = await self._perform(call, action, timestamp)
            except BaseException:  # most of all a cancellation: nobody knows where the page is
                await self.end()
                raise
            finally:
                self._used = time.monotonic()
        duration = round((time.monotonic() - began) * 1000)
        envelope = envelope.model_copy(update={"duration_ms": duration})
        return Receipt(
            status=_STATUS[envelope.status],
            content=envelope.to_content(),
            evidence=envelope.to_text(),
        )

    async def end(self) -> None:
        """End the browser."""
        page, self._page = self._page, None
        watch, self._watch = self._watch, None
        if watch is not None and watch is not asyncio.current_task():
            watch.cancel()
        if page is not None:
            await page.close()

    async def _perform(self, call: Call, action: Action, timestamp: str) -> BrowserEnvelope:
        envelope = BrowserEnvelope(
            status="error", tool=call.definition.name, timestamp=timestamp, interaction=self._count
        )
        refusal = self._refusal()
        if refusal is not None:
            return envelope.model_copy(update={"fault": f"Not done: {refusal}"})
        self._count += 1
        started = self._page is None
        envelope = envelope.model_copy(update={"interaction": self._count, "started": started})
        try:
            page = self._page or await self._open()
        except TimeoutError:
            await self.end()
            seconds = self.keys.startup_timeout_seconds
            return envelope.model_copy(update={"fault": f"Not started within {seconds} s."})
        except (ActionError, OperatorError) as error:
            await self.end()
            hint = getattr(error, "hint", None)
            return envelope.model_copy(update={"fault": f"{error} {hint or ''}".rstrip()})
        return await self._act(page, envelope, action, call)

    async def _act(
        self, page: BrowserPage, envelope: BrowserEnvelope, action: Action, call: Call
    ) -> BrowserEnvelope:
        found: dict[str, object] = {"status": "success"}
        try:
            async with asyncio.timeout(self.tool.timeout_seconds):
                try:
                    result = await page.act(action, call.arguments)
                    found |= await self._kept(result)
                except ActionError as error:
                    found |= {"status": "error", "fault": str(error)}
                found["url"], found["title"] = await page.where()
        except TimeoutError:
            seconds = self.tool.timeout_seconds
            self.lost = f"it took more than {seconds} s, and was ended"
            found = {"status": "timeout", "fault": f"Ended after {seconds} s, with the browser."}
            await self.end()
        found["refused"] = page.take_refused()
        if self._page is not None and not page.is_alive:
            self.lost = "it ended by itself"
            await self.end()
        return BrowserEnvelope.model_validate({**envelope.model_dump(), **found})

    async def _kept(self, result: str | bytes | None) -> dict[str, object]:
        if isinstance(result, bytes):
            return {"blob": await asyncio.to_thread(self.blobs.put, result)}
        if result is None or len(result) <= MAX_EVIDENCE:
            return {"results": result}
        data = result.encode("utf-8", "replace")
        return {"results": result, "blob": await asyncio.to_thread(self.blobs.put, data)}

    async def _open(self) -> BrowserPage:
        env = child_environment(os.environ)
        self._page = page = BrowserPage(self.keys, env, self.tool.timeout_seconds)
        async with asyncio.timeout(self.keys.startup_timeout_seconds):
            await page.open()
        self._began = self._began or time.monotonic()
        self._watch = asyncio.create_task(self._end_in_time())
        return page

    def _refusal(self) -> str | None:
        """Why nothing can be done now."""
        keys = self.keys
        if self._count >= keys.max_interactions:
            return f"this run has used all {keys.max_interactions} interactions of the browser."
        seconds = keys.session_timeout_seconds
        if self._began is not None and time.monotonic() - self._began >= seconds:
            return f"the browser's {seconds} s in this run are over."
        if self.lost is not None:
            reason, self.lost = self.lost, None
            return f"the browser is lost: {reason}. The next call starts a new one, without a page."
        return None

    async def _end_in_time(self) -> None:
        """End the browser when it is not used, or its time is up."""
        over = (self._began or 0) + self.keys.session_timeout_seconds
        while True:
            now, busy = time.monotonic(), self._lock.locked()
            idle = (now if busy else self._used) + self.keys.idle_timeout_seconds
            due = min(idle, over) if not busy else idle
            if now >= due:
                self.lost = "nobody used it" if now < over else "its time was up"
                await self.end()
                return
            await asyncio.sleep(max(0.05, due - now))


_STATUS: dict[BrowserOutcome, CallStatus] = {
    "success": "ok",
    "error": "error",
    "timeout": "timeout",
}
