"""Performing the host tools: reads together, changes one by one, in the order of the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from artificer.backends.answer import ToolRefusal, integer_in, receipt_of, refused
from artificer.backends.context import ExecutorContext
from artificer.backends.function.processes import run_in_process
from artificer.backends.host import reading, searching
from artificer.backends.host.changes import Changer
from artificer.backends.host.folder import Folder, PathParts
from artificer.backends.host.known import KnownFiles
from artificer.backends.host.spec.tools import MAX_LINES, READ_BYTES, SEARCH_SECONDS, definitions
from artificer.backends.host.writing import CHANGING, HostWriter
from artificer.backends.process.lane import CallLane
from artificer.contracts.capabilities import Host
from artificer.contracts.definition import ToolDefinition
from artificer.errors import BugError
from artificer.ports import BlobStore, Call, Executor, Receipt
from artificer.system.tasks import in_thread
from artificer.values.base import JsonObject
from artificer.values.canon import digest_of

_SEARCH = "artificer.backends.host.searching:search"


class HostExecutor:
    """Performs the calls of the host tools in one folder."""

    def __init__(
        self,
        host: Host,
        *,
        blobs: BlobStore,
        evidence: Path | None = None,
        search_seconds: float = SEARCH_SECONDS,
    ) -> None:
        """Write the planned changes of calls to ``evidence`` (default: a temporary folder), and
        new contents to ``blobs``. Raises ConfigError: the folder does not exist.
        """
        self._folder = Folder.found(Path(host.folder))
        self._known = KnownFiles(read_first=host.read_first)
        changer = Changer(self._folder, blobs, evidence)
        self._writer = HostWriter(self._folder, changer, self._known, host.protect)
        self._definitions = definitions(host)
        self._search_seconds = search_seconds
        self._lane = CallLane()
        self._works: dict[str, Callable[[Call], JsonObject | str]] = {
            "host.read": self._read,
            "host.list": self._list,
            "host.stat": self._stat,
            "host.glob": self._glob,
        }

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools that the folder is given with."""
        return self._definitions

    async def execute(self, call: Call) -> Receipt:
        """Perform a call."""
        name = call.definition.name
        if name not in {tool.name for tool in self._definitions}:
            raise BugError(f"This executor has no tool {name!r}.")
        async with self._lane.turn(exclusive=name in CHANGING):
            if name == "host.grep":
                return await self._grep(call)
            if name in CHANGING:
                return await in_thread(partial(self._writer.perform, call))
            return await in_thread(partial(receipt_of, name, partial(self._works[name], call)))

    def recall(self, run: str, tools: frozenset[str]) -> None:
        """A resumed run may have read files that this process does not know."""
        if "host.read" in tools:
            self._known.resume(run)

    async def release(self, run: str) -> None:
        """Forget what a run has read."""
        self._known.forget(run)

    def _read(self, call: Call) -> JsonObject | str:
        arguments = call.arguments
        parts = self._parts(call)
        if "offset" in arguments:
            length = _number(arguments, "length", READ_BYTES)
            return reading.read_range(self._folder, parts, _number(arguments, "offset", 0), length)
        content = self._folder.read(parts)
        path = "/".join(parts)
        count = _number(arguments, "lines", MAX_LINES)
        text = reading.read_lines(path, content.data, _number(arguments, "line", 1), count)
        self._known.learn(call.run, path, digest_of(content.data))
        return text

    def _list(self, call: Call) -> JsonObject:
        arguments = call.arguments
        cursor = str(arguments.get("cursor", ""))
        limit = _number(arguments, "limit", 100)
        return reading.list_directory(self._folder, self._parts(call), cursor, limit)

    def _stat(self, call: Call) -> JsonObject:
        return reading.stat_entry(self._folder, self._parts(call))

    def _glob(self, call: Call) -> JsonObject:
        arguments = call.arguments
        cursor = str(arguments.get("cursor", ""))
        limit = _number(arguments, "limit", 100)
        glob, seconds = str(arguments["pattern"]), self._search_seconds
        return searching.find_files(self._folder, self._parts(call), glob, cursor, limit, seconds)

    async def _grep(self, call: Call) -> Receipt:
        arguments = call.arguments
        try:
            parts = self._parts(call)
        except ToolRefusal as refusal:
            return refused(call.definition.name, refusal)
        search: JsonObject = {
            "folder": str(self._folder.root),
            "parts": [*parts],
            "pattern": str(arguments["pattern"]),
            "ignore_case": arguments.get("ignore_case") is True,
            "glob": str(arguments.get("glob", "")),
            "context": _number(arguments, "context", 0),
            "limit": _number(arguments, "limit", 100),
        }
        report = await run_in_process(_SEARCH, search, self._search_seconds)
        if report is None:
            detail = f"{searching.NOT_ENDED} narrow it, or simplify the pattern."
            return refused(call.definition.name, ToolRefusal(detail, "timeout"))
        if report.status == "error":
            return refused(call.definition.name, _refusal_of(report.content))
        return Receipt(status="ok", content=report.content)

    def _parts(self, call: Call) -> PathParts:
        return self._folder.parts(str(call.arguments.get("path", "")))


def _refusal_of(report: str) -> ToolRefusal:
    """Return what the search's own process has raised."""
    kind, _, detail = report.partition(": ")
    if kind == searching.InvalidSearch.__name__:
        return searching.InvalidSearch(detail)
    return ToolRefusal(detail if kind == ToolRefusal.__name__ else report)


def _number(arguments: JsonObject, name: str, default: int) -> int:
    value = integer_in(arguments, name)
    return default if value is None else value


def executors(host: Host, context: ExecutorContext) -> Iterable[Executor]:
    """Return the executor of a run's folder."""
    yield HostExecutor(host, blobs=context.blobs, evidence=context.evidence)
