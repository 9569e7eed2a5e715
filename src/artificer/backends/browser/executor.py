"""Performing the calls of ``[browser]`` tools: one page for each run and manifest."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from artificer.backends.browser.spec.commands import BrowserCommand, browser_commands
from artificer.backends.browser.spec.flows import secrets_of, usable_flows
from artificer.backends.browser.spec.keys import BrowserKeys
from artificer.backends.browser.spec.scope import host_refusal, place_in
from artificer.backends.browser.visit import Site, Visit
from artificer.backends.context import ExecutorContext
from artificer.backends.deadline import Deadline
from artificer.backends.receipts import Now
from artificer.backends.refusal import refuse
from artificer.backends.session.usage_limits import UsageLimiter
from artificer.contracts.arguments.bind import bind
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.definition import toolset as toolset_of
from artificer.errors import BugError, ConfigError
from artificer.manifests.model import Manifest, ManifestFile
from artificer.ports import BlobStore, Call, Executor, Receipt, SecretFinder
from artificer.ports.clock import wall_time
from artificer.secrets.resolver import ENVIRONMENT
from artificer.system.tasks import shielded
from artificer.values.base import JsonValue, Problem


class BrowserExecutor:
    """Performs actions in browsers. The first call of a run opens one, :meth:`release` ends it.

    Pictures and long results are kept in ``blobs``.
    """

    def __init__(
        self,
        manifests: Sequence[Manifest[BrowserKeys]],
        *,
        blobs: BlobStore,
        live: str = "",
        secrets: SecretFinder = ENVIRONMENT,
        now: Now = wall_time,
    ) -> None:
        """``live`` is where the operator's running browser is found, if tools may have a page in
        it, ``secrets`` finds the values of references, ``now`` is the time of the evidence. Raises
        ConfigError when one wants that and may not, and ToolDefinitionError when two share a name.
        """
        self._blobs = blobs
        self._secrets = secrets
        self._now = now
        self._commands: dict[str, tuple[Site, BrowserCommand]] = {}
        found: list[ToolDefinition] = []
        for manifest in manifests:
            site = _site(manifest, live)
            for command in browser_commands(site.tool, site.keys):
                self._commands[command.definition.name] = (site, command)
                found.append(command.definition)
        self._definitions = toolset_of(tuple(found)).tools
        self._visits: dict[tuple[str, str], Visit] = {}

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions, in the given order."""
        return self._definitions

    def needed_secrets(self, tool: str) -> Iterable[str]:
        """Return the names of the secrets of all logins (ports.NeedingSecrets)."""
        site, command = self._commands[tool]
        flows = usable_flows(site.keys).values() if command.action == "login" else ()
        return dict.fromkeys(name for flow in flows for name in secrets_of(flow))

    async def execute(self, call: Call) -> Receipt:
        """Perform one action within the call's time, after those that were called before it."""
        deadline = Deadline(call)
        found = self._commands.get(call.definition.name)
        if found is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        site, command = found
        bound = bind(command.arguments, {}, call.arguments, site.scope)
        problems = bound.problems or _out_of_scope(site.keys, bound.values)
        if problems:
            return refuse(call.definition.name, problems)
        return await self._visit(call.run, site).perform(command, bound.values, deadline)

    def recall(self, run: str, calls: Mapping[str, int]) -> None:
        """Continue the counts of a run whose former process, and its browsers, are gone."""
        for name in calls.keys() & self._commands.keys():
            self._visit(run, self._commands[name][0]).tenure.recall(calls[name])

    async def release(self, run: str) -> None:
        """End the run's browsers. A cancellation takes effect when they have ended."""
        await shielded(self._release(run))

    async def _release(self, run: str) -> None:
        mine = [key for key in self._visits if key[0] == run]
        await asyncio.gather(*(self._visits.pop(key).end() for key in mine))

    def _visit(self, run: str, site: Site) -> Visit:
        key = (run, site.tool.name)
        if key not in self._visits:
            tenure = UsageLimiter("browser", "without a page", site.keys)
            self._visits[key] = Visit(site, self._blobs, tenure, self._secrets, self._now)
        return self._visits[key]


def executors(
    files: Sequence[ManifestFile[BrowserKeys]], context: ExecutorContext
) -> Iterable[Executor]:
    """Return one executor for the browsers of a folder."""
    manifests = [file.manifest for file in files]
    live, blobs = context.settings.live, context.clean_blobs
    yield BrowserExecutor(
        manifests, blobs=blobs, live=live, secrets=context.secrets, now=context.now
    )


def _site(manifest: Manifest[BrowserKeys], live: str) -> Site:
    if manifest.part.connect == "live" and not live:
        raise ConfigError(
            f"The tool {manifest.tool.name!r} needs your running browser, which is not enabled.",
            hint="To enable it, start the browser with --remote-debugging-port=9222 and write "
            'live = "http://127.0.0.1:9222" below [browser] of artificer.toml.',
        )
    return Site(manifest.tool, manifest.part, manifest.scope, live)


def _out_of_scope(browser: BrowserKeys, values: Mapping[str, JsonValue]) -> tuple[Problem, ...]:
    """Report what the proxy would refuse, before anything is opened."""
    if "url" not in values:
        return ()
    try:
        host, port = place_in(str(values["url"]))
    except ValueError:
        return (Problem(pointer="/url", message="is not an address"),)
    reason = host_refusal(browser.scope, host, port)
    return (Problem(pointer="/url", message=f"{host!r} {reason}"),) if reason else ()
