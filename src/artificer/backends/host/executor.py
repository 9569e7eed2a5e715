"""Performing the host tools: reads together, changes one by one, in the order of the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from artificer.backends.answer import ToolRefusal, receipt_of, refused
from artificer.backends.context import ExecutorContext
from artificer.backends.function.forked import run_forked
from artificer.backends.host import reading, searching
from artificer.backends.host.changes import Changer, HostChange
from artificer.backends.host.folder import Content, Folder, PathParts
from artificer.backends.host.spec.edit import Edited, edit
from artificer.backends.host.spec.patch import FilePatch, PatchError, apply, parse
from artificer.backends.host.spec.tools import GREP_SECONDS, MAX_LINES, READ_BYTES, definitions
from artificer.backends.process.lane import CallLane
from artificer.contracts.capabilities import Host
from artificer.contracts.definition import ToolDefinition
from artificer.errors import BugError
from artificer.ports import BlobStore, Call, Executor, Receipt
from artificer.shielded import in_thread
from artificer.values.base import JsonObject, Problem
from artificer.values.canon import canonical, digest_of

SHOWN = 4
"""Lines that are shown around a change."""

_CHANGING = frozenset({"host.write", "host.edit", "host.patch"})


class HostExecutor:
    """Performs the calls of the host tools in one folder."""

    def __init__(
        self,
        host: Host,
        *,
        blobs: BlobStore,
        evidence: Path | None = None,
        grep_seconds: float = GREP_SECONDS,
    ) -> None:
        """Write the planned changes of calls to ``evidence`` (default: a temporary folder), and
        new contents to ``blobs``. Raises ConfigError: there is no such folder.
        """
        self._host = host
        self._folder = Folder(Path(host.folder))
        self._changer = Changer(self._folder, blobs, evidence)
        self._protected = frozenset(name.casefold() for name in host.protect)
        self._definitions = definitions(host)
        self._grep_seconds = grep_seconds
        self._lane = CallLane()
        self._seen: dict[tuple[str, str], str] = {}
        self._resumed: set[str] = set()
        self._works: dict[str, Callable[[Call], JsonObject | str]] = {
            "host.read": self._read,
            "host.list": self._list,
            "host.stat": self._stat,
            "host.glob": self._glob,
            "host.write": self._write,
            "host.edit": self._edit,
            "host.patch": self._patch,
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
        async with self._lane.turn(exclusive=name in _CHANGING):
            if name == "host.grep":
                return await self._grep(call)
            if name in _CHANGING:
                return await in_thread(partial(self._change, call))
            return await in_thread(partial(receipt_of, name, partial(self._works[name], call)))

    def recall(self, run: str, tools: frozenset[str]) -> None:
        """A run that is taken up again may have read files that nobody here knows of."""
        if "host.read" in tools:
            self._resumed.add(run)

    async def release(self, run: str) -> None:
        """Forget what a run has read."""
        self._resumed.discard(run)
        self._seen = {key: digest for key, digest in self._seen.items() if key[0] != run}

    # --- reading ------------------------------------------------------------------------------

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
        self._seen[call.run, path] = digest_of(content.data)
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
        return searching.find_files(
            self._folder, self._parts(call), str(arguments["pattern"]), cursor, limit
        )

    async def _grep(self, call: Call) -> Receipt:
        arguments = call.arguments
        try:
            pattern = searching.compiled(
                str(arguments["pattern"]), ignore_case=arguments.get("ignore_case") is True
            )
            parts = self._parts(call)
        except ToolRefusal as refusal:
            return refused(call.definition.name, refusal)
        work = partial(
            searching.find_lines,
            self._folder,
            parts,
            pattern,
            str(arguments.get("glob", "")),
            _number(arguments, "context", 0),
            _number(arguments, "limit", 100),
        )
        report = await run_forked(work, self._grep_seconds)
        if report is None:
            detail = "The search did not end in its time: narrow it, or simplify the pattern."
            return refused(call.definition.name, ToolRefusal(detail, "timeout"))
        if report.status == "error":
            return refused(call.definition.name, ToolRefusal(report.content))
        return Receipt(status="ok", content=report.content)

    # --- changing -----------------------------------------------------------------------------

    def _change(self, call: Call) -> Receipt:
        """Perform a call that changes files, or finish what it had begun before a crash."""
        plan = self._changer.begun(call)
        if plan is not None:
            begun = plan

            def finish() -> str:
                self._changer.finish(begun)
                return begun.answer

            receipt = receipt_of(call.definition.name, finish)
        else:
            receipt = receipt_of(
                call.definition.name, partial(self._works[call.definition.name], call)
            )
            plan = self._changer.begun(call)
        if receipt.status != "ok" or plan is None:
            return receipt
        for step in plan.steps:
            self._seen[call.run, step.path] = step.after or ""
        steps = [step.to_json() for step in plan.steps]
        return receipt.replace(evidence=canonical({"changes": steps}).decode())

    def _write(self, call: Call) -> str:
        arguments = call.arguments
        parts = self._writable(str(arguments["path"]))
        path, old = "/".join(parts), self._folder.find(parts)
        data = str(arguments["text"]).encode()
        mode = 0o644 if old is None else old.mode
        if "executable" in arguments:
            mode = mode | 0o111 if arguments["executable"] is True else mode & ~0o111
        new = Content(data, mode)
        if new == old:
            self._seen[call.run, path] = digest_of(data)
            return f"{path} has this text already · {digest_of(data)}"
        self._must_expect(call, path, old, arguments.get("expect"))
        what = "written anew" if old else "made"
        answer = f"{path} {what} · {len(data)} bytes · {digest_of(data)}"
        return self._make(call, [HostChange(path, old, new)], answer)

    def _must_expect(self, call: Call, path: str, old: Content | None, expect: object) -> None:
        if expect == "absent":
            if old is not None:
                raise ToolRefusal(f"{path!r} exists already, and was to be new.")
        elif expect is not None:
            if old is None or digest_of(old.data) != expect:
                have = "is not there" if old is None else f"has the digest {digest_of(old.data)}"
                raise ToolRefusal(f"{path!r} {have}, and not the one that was expected.")
        elif old is not None:
            self._must_know(call, path, old, always=True)

    def _edit(self, call: Call) -> str:
        arguments = call.arguments
        parts = self._writable(str(arguments["path"]))
        path, old = "/".join(parts), self._folder.read(parts)
        text = reading.text_of(path, old.data)
        self._must_know(call, path, old)
        everywhere = arguments.get("all") is True
        done = edit(text, str(arguments["old"]), str(arguments["new"]), everywhere=everywhere)
        if not isinstance(done, Edited):
            raise ToolRefusal(f"{path}: {done}")
        new = Content(done.text.encode(), old.mode)
        count = len(done.lines)
        times = "once" if count == 1 else f"{count} times"
        around = str(arguments["new"]).count("\n") + SHOWN
        line = done.lines[0]
        shown = reading.numbered(done.text, max(1, line - SHOWN), line + min(around, 40))
        answer = f"{path} edited {times} · {digest_of(new.data)}\n{shown}"
        return self._make(call, [HostChange(path, old, new)], answer)

    def _patch(self, call: Call) -> str:
        try:
            files = parse(str(call.arguments["patch"]))
        except PatchError as error:
            raise ToolRefusal(f"The patch cannot be read: {error}.", "invalid") from error
        problems: list[Problem] = []
        moved: list[str] = []
        changes: list[HostChange] = []
        for file in files:
            change, found, placed = self._patched(call, file)
            problems += found
            moved += placed
            if change is not None:
                changes.append(change)
        if problems:
            raise ToolRefusal(
                "Nothing was changed: all of a patch fits, or none.", "error", problems
            )
        dry = call.arguments.get("dry_run") is True
        verb = "would be" if dry else "was"
        lines = [f"{change.path} {verb} {_word(change)}" for change in changes] + moved
        answer = "\n".join(lines)
        return answer if dry else self._make(call, changes, answer)

    def _patched(
        self, call: Call, file: FilePatch
    ) -> tuple[HostChange | None, Sequence[Problem], Sequence[str]]:
        try:
            parts = self._writable(file.path)
            path, old = "/".join(parts), self._folder.find(parts)
            text = None if old is None else reading.text_of(path, old.data)
            if old is not None:
                self._must_know(call, path, old)
        except ToolRefusal as refusal:
            return None, [Problem(pointer=file.path, message=refusal.detail)], ()
        done = apply(file, text)
        if done.problems:
            return None, done.problems, ()
        mode = old.mode if old else 0o644
        after = None if done.text is None else Content(done.text.encode(), mode)
        return HostChange(path, old, after), (), done.moved

    def _make(self, call: Call, changes: Sequence[HostChange], answer: str) -> str:
        self._changer.make(call, changes, answer)
        return answer

    def _must_know(self, call: Call, path: str, old: Content, *, always: bool = False) -> None:
        """Refuse to change a file that the run has not read as it is now."""
        if not (self._host.read_first or always):
            return
        seen = self._seen.get((call.run, path))
        if seen == digest_of(old.data):
            return
        if seen is not None:
            raise ToolRefusal(f"{path!r} has changed since you read it. Read it again.")
        other = ", or give its digest as `expect`" if always else ""
        why = " The run was interrupted since." if call.run in self._resumed else ""
        raise ToolRefusal(f"Read {path!r} first{other}.{why}")

    def _parts(self, call: Call) -> PathParts:
        return self._folder.parts(str(call.arguments.get("path", "")))

    def _writable(self, path: str) -> PathParts:
        parts = self._folder.parts(path)
        if not parts:
            raise ToolRefusal("The folder itself is no file.")
        for part in parts:
            if part.casefold() in self._protected:
                raise ToolRefusal(f"{path!r} is protected: {part!r} is not written here.", "denied")
        return parts


def _number(arguments: JsonObject, name: str, default: int) -> int:
    value = arguments.get(name, default)
    return int(value) if isinstance(value, int | float) else default


def _word(change: HostChange) -> str:
    if change.before is None:
        return "made"
    return "removed" if change.after is None else "changed"


def executors(host: Host, context: ExecutorContext) -> Iterable[Executor]:
    """Return the executor of a run's folder."""
    yield HostExecutor(host, blobs=context.blobs, evidence=context.evidence)
