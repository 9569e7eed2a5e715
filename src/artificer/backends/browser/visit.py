"""A run's actions in one browser, and their receipts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from artificer.backends.browser.actions import SUBMITS, act
from artificer.backends.browser.login import log_in
from artificer.backends.browser.page import ActionError, BrowserPage
from artificer.backends.browser.spec.commands import BrowserCommand
from artificer.backends.browser.spec.envelope import BrowserEnvelope
from artificer.backends.browser.spec.flows import secrets_of
from artificer.backends.browser.spec.keys import BrowserKeys
from artificer.backends.deadline import Deadline
from artificer.backends.process.environment import child_environment
from artificer.backends.receipts import Began, Now, status_of
from artificer.backends.secrets.redaction import Redactor
from artificer.backends.session.usage_limits import UsageLimiter
from artificer.contracts.evidence import MAX_EVIDENCE
from artificer.contracts.scope import Scope
from artificer.errors import OperatorError
from artificer.manifests.keys import ToolKeys
from artificer.ports import Attachment, BlobStore, Receipt, SecretFinder
from artificer.ports.attachment import attachment_of
from artificer.system.tasks import shielded
from artificer.values.base import JsonValue
from artificer.values.text import clip

MAX_RESULT = 8 * 1024 * 1024
"""Characters of what is read of a page."""

MAX_FACT = 2_000
"""Characters of a page's address, or of its title."""


@dataclass(frozen=True)
class Site:
    """A browser as its manifest declares it; ``live`` is where a running one is found."""

    tool: ToolKeys
    keys: BrowserKeys
    scope: Scope | None
    live: str


@dataclass
class Visit:
    """A run's actions in one browser; the limits hold for all of them."""

    site: Site
    blobs: BlobStore
    tenure: UsageLimiter
    secrets: SecretFinder
    now: Now
    _page: BrowserPage | None = None
    _watch: asyncio.Task[None] | None = None
    _hosts: frozenset[str] = frozenset()
    _typed: dict[str, str] = field(default_factory=dict)

    async def perform(
        self, command: BrowserCommand, arguments: Mapping[str, JsonValue], deadline: Deadline
    ) -> Receipt:
        """Perform an action within the call's time, whatever it brings."""
        began = Began.at(self.now)
        async with self.tenure.turn(self.end):
            envelope = BrowserEnvelope(
                status="error",
                tool=command.definition.name,
                timestamp=began.timestamp,
                interaction=self.tenure.count,
            )
            envelope = await self._perform(envelope, command, arguments, deadline)
        envelope = envelope.replace(duration_ms=began.duration_ms)
        return Receipt(
            status=status_of(envelope.status),
            content=envelope.to_content(),
            evidence=envelope.to_text(),
            attachments=await self._shown(command, envelope),
        )

    async def _shown(
        self, command: BrowserCommand, envelope: BrowserEnvelope
    ) -> tuple[Attachment, ...]:
        """Return the picture that the model requested."""
        if command.action != "screenshot" or envelope.blob is None:
            return ()
        data = await asyncio.to_thread(self.blobs.get, envelope.blob)
        return (attachment_of(data, name="screenshot.png"),)

    async def end(self) -> None:
        """End the browser. A cancellation takes effect when it has ended."""
        page, self._page = self._page, None
        watch, self._watch = self._watch, None
        self._hosts = frozenset()
        if watch is not None and watch is not asyncio.current_task():
            watch.cancel()
        if page is not None:
            await shielded(page.close())

    async def _perform(
        self,
        envelope: BrowserEnvelope,
        command: BrowserCommand,
        arguments: Mapping[str, JsonValue],
        deadline: Deadline,
    ) -> BrowserEnvelope:
        refusal = self.tenure.refusal()
        if refusal is not None:
            return envelope.replace(fault=f"Not done: {refusal}")
        if deadline.is_over:
            fault = "Not done: its time was up before its turn."
            return envelope.replace(status="timeout", fault=fault)
        self.tenure.count += 1
        started = self._page is None
        envelope = envelope.replace(interaction=self.tenure.count, started=started)
        seconds = deadline.within(self.site.keys.startup_timeout_seconds)
        try:
            page = self._page or await self._open(seconds)
        except TimeoutError:
            await self.end()
            return envelope.replace(fault=f"Not started within {seconds:g} s.")
        except (ActionError, OperatorError) as error:
            await self.end()
            hint = getattr(error, "hint", None)
            return envelope.replace(fault=f"{error} {hint or ''}".rstrip())
        return await self._act(page, envelope, command, arguments, deadline)

    async def _act(
        self,
        page: BrowserPage,
        envelope: BrowserEnvelope,
        command: BrowserCommand,
        arguments: Mapping[str, JsonValue],
        deadline: Deadline,
    ) -> BrowserEnvelope:
        found: dict[str, object] = {"status": "success"}
        seconds = deadline.within(self.site.tool.timeout_seconds)
        try:
            async with asyncio.timeout(seconds):
                try:
                    result = await self._do(page, command, arguments)
                    found |= await self._kept(result)
                except ActionError as error:
                    found |= {"status": "error", "fault": self._clean(str(error))}
                found |= await self._seen(page)
        except TimeoutError:
            self.tenure.lost = f"it took more than {seconds:g} s, and was ended"
            found = {"status": "timeout", "fault": f"Ended after {seconds:g} s, with the browser."}
            await self.end()
        except ActionError as error:  # of a page that is gone
            found |= {"status": "error", "fault": str(error)}
        found["refused"] = page.take_refused()
        if self._page is not None and not page.is_alive:
            self.tenure.lost = "it ended by itself"
            await self.end()
        return BrowserEnvelope.from_json({**envelope.to_json(), **found})

    async def _do(
        self, page: BrowserPage, command: BrowserCommand, arguments: Mapping[str, JsonValue]
    ) -> str | bytes | None:
        if command.action == "login":
            return await self._log_in(page, str(arguments["service"]))
        return await page.on_page(
            lambda it: act(it, command.action, arguments), may_submit=command.action in SUBMITS
        )

    async def _log_in(self, page: BrowserPage, service: str) -> str:
        flow = self.site.keys.auth_flows[service]
        found = await self.secrets.found(secrets_of(flow))
        if found.missing:
            raise ActionError(f"Not done: {found.missing}.")
        _, *others = secrets_of(flow)  # a user's name is not a secret: pages greet with it
        self._typed |= {name: found.values[name] for name in others}
        await page.on_page(lambda it: log_in(it, flow, found.values), may_submit=True)
        url, _ = await page.where()
        self._hosts |= {urlsplit(url).hostname or ""}
        return f"Logged in to {service}."

    async def _seen(self, page: BrowserPage) -> dict[str, object]:
        """Return the page's state for the envelope of an action: a page may say anything of any
        length.
        """
        url, title = await page.where()
        found: dict[str, object] = {"url": self._short(url), "title": self._short(title)}
        found["state"] = {
            name: self._short(value) if isinstance(value, str) else value
            for name, value in (await page.state(self._hosts)).items()
        }
        if self.site.tool.evidence.screenshots:
            picture = await page.picture()
            found["picture"] = await asyncio.to_thread(self.blobs.put, picture)
        return found

    async def _kept(self, result: str | bytes | None) -> dict[str, object]:
        if isinstance(result, bytes):
            return {"blob": await asyncio.to_thread(self.blobs.put, result)}
        if result is None:
            return {}
        if len(result) > MAX_RESULT:
            raise ActionError(f"Not kept: the result is longer than {MAX_RESULT} characters.")
        result = self._clean(result)
        if len(result) <= MAX_EVIDENCE and not self.site.tool.evidence.capture:
            return {"results": result}
        data = result.encode("utf-8", "replace")
        return {"results": result, "blob": await asyncio.to_thread(self.blobs.put, data)}

    def _short(self, text: str) -> str:
        return clip(self._clean(text), MAX_FACT)

    def _clean(self, text: str) -> str:
        """A text of the page without the secrets that were typed into it."""
        return Redactor(self._typed).clean(text) if self._typed else text

    async def _open(self, seconds: float) -> BrowserPage:
        site = self.site
        env = child_environment(os.environ)
        self._page = page = BrowserPage(site.keys, env, site.tool.timeout_seconds, site.live)
        async with asyncio.timeout(seconds):
            await page.open()
        self.tenure.begin()
        self._watch = asyncio.create_task(self._end_in_time())
        return page

    async def _end_in_time(self) -> None:
        """End the browser when it is not used, or its time is up."""
        self.tenure.lost = await self.tenure.expired(spares_calls=True)
        await self.end()
