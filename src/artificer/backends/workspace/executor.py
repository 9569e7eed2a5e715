"""Performing the workspace tools: grants are checked on the resolved workspace.

No tool takes a root or a digest to read by: a version of a named workspace is the only way in, so
knowing a digest opens nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

from artificer.backends.answer import ToolRefusal, integer_in, page, receipt_of
from artificer.backends.context import ExecutorContext
from artificer.backends.workspace import summary
from artificer.backends.workspace.drafts import DraftCommit, Drafts
from artificer.backends.workspace.service import Resolved, VersionConflict, Workspaces
from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.edits import Drop, Put
from artificer.backends.workspace.spec.tools import READ_BYTES, definitions
from artificer.contracts import capabilities as grants_of
from artificer.contracts.capabilities import Grant, Operation
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.workspace_names import name_fault, within
from artificer.errors import BugError
from artificer.ports import Call, Executor, Receipt
from artificer.system.tasks import in_thread
from artificer.values.base import JsonObject, Problem
from artificer.values.canon import digest_of


class WorkspaceExecutor:
    """Performs the calls of the workspace tools that the grants offer.

    One call at a time: calls of one turn happen in the order in which the model wrote them.
    """

    def __init__(self, workspaces: Workspaces, grants: Sequence[Grant]) -> None:
        self._workspaces = workspaces
        self._drafts = Drafts(workspaces)
        self._grants = tuple(grants)
        self._definitions = definitions(grants)
        self._turn = asyncio.Lock()
        self._works: dict[str, Callable[[Call], JsonObject]] = {
            "workspace.list": self._list,
            "workspace.read": self._read,
            "workspace.write": self._write,
            "workspace.remove": self._remove,
            "workspace.diff": self._diff,
            "workspace.commit": self._commit,
        }

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools of the operations that are granted."""
        return self._definitions

    async def execute(self, call: Call) -> Receipt:
        """Perform a call."""
        work = self._works.get(call.definition.name)
        if work is None:
            raise BugError(f"This executor has no tool {call.definition.name!r}.")
        async with self._turn:
            return await in_thread(partial(receipt_of, call.definition.name, partial(work, call)))

    # --- reading ------------------------------------------------------------------------------

    def _list(self, call: Call) -> JsonObject:
        arguments = call.arguments
        if "workspace" not in arguments:
            return self._names(arguments)
        path = summary.path_in(arguments)
        found = self._resolve(call, "list", path)
        if found is None:
            return {"workspace": str(arguments["workspace"]), "exists": False}
        if not isinstance(tree.find(self._fetch, found.root, path), tree.Directory):
            raise ToolRefusal(f"There is no directory {path!r} in {summary.in_words(found)}.")
        deep = arguments.get("depth") == "subtree"
        entries = tree.walk(
            self._fetch, found.root, path, deep=deep, after=str(arguments.get("cursor", ""))
        )
        return {
            **summary.facts_of(found),
            **page("entries", entries, summary.entry, summary.limit_in(arguments)),
        }

    def _names(self, arguments: JsonObject) -> JsonObject:
        after = str(arguments.get("cursor", ""))
        names = (
            (name, name)
            for name in self._workspaces.names()
            if name > after and grants_of.prefixes(self._grants, "list", name)
        )

        def tell(_: str, name: str) -> JsonObject:
            return {"workspace": name, "version": self._workspaces.head(name)}

        return page("workspaces", names, tell, summary.limit_in(arguments))

    def _read(self, call: Call) -> JsonObject:
        arguments = call.arguments
        path = summary.path_in(arguments)
        found = self._must_resolve(call, "read", path)
        file = tree.find(self._fetch, found.root, path)
        if not isinstance(file, tree.TreeFile):
            what = "is a directory" if file else "is not there"
            raise ToolRefusal(f"{path!r} {what} in {summary.in_words(found)}.")
        offset = integer_in(arguments, "offset") or 0
        if offset > file.size:
            raise ToolRefusal(f"The offset {offset} is beyond the file's {file.size} bytes.")
        length = integer_in(arguments, "length") or READ_BYTES
        data = self._fetch(file.digest)[offset : offset + length]
        content, end = summary.content(data, offset, ends=offset + len(data) == file.size)
        return {
            **summary.facts_of(found),
            "path": path,
            "mode": file.mode,
            "size": file.size,
            "digest": file.digest,
            "range": [offset, end],
            "more": end < file.size,
            **content,
        }

    def _diff(self, call: Call) -> JsonObject:
        arguments = call.arguments
        path = summary.path_in(arguments)
        self._check("diff", str(arguments["workspace"]), path)
        after = self._must_resolve(call, "diff", path, integer_in(arguments, "to"))
        since = integer_in(arguments, "from")
        if since is None:
            if not after.draft:
                raise ToolRefusal(
                    "You have no draft here: say `from`, the version to compare with."
                )
            since = after.version
        before = self._must_resolve(call, "diff", path, since)
        cursor = tuple(str(arguments["cursor"]).split("/")) if "cursor" in arguments else ()
        changes = (
            (change.path, change)
            for change in tree.diff(self._fetch, before.root, after.root)
            if within(change.path, path) and tuple(change.path.split("/")) > cursor
        )
        return {
            **summary.facts_of(after),
            "from": {"version": before.version, "root": before.root},
            **page("changes", changes, summary.change, summary.limit_in(arguments)),
        }

    # --- writing ------------------------------------------------------------------------------

    def _write(self, call: Call) -> JsonObject:
        files: Any = call.arguments["files"]
        name = str(call.arguments["workspace"])
        edits: list[Put] = []
        problems: list[Problem] = []
        contents: list[bytes] = []
        for number, file in enumerate(files):
            self._check("write", name, file["path"])
            data = summary.bytes_of(file)
            fault = summary.write_fault(file["path"])
            if data is None or fault:
                problems.append(_refused(number, data, fault))
                continue
            digest = digest_of(data)
            contents.append(data)
            edits.append(Put(file["path"], digest, len(data), file.get("mode"), file.get("expect")))
        if problems:
            raise ToolRefusal("Nothing was written.", "invalid", problems)
        base = integer_in(call.arguments, "version")
        return self._edit(call, edits, "/files/{}/path", base, contents)

    def _remove(self, call: Call) -> JsonObject:
        paths: Any = call.arguments["paths"]
        for path in paths:
            self._check("remove", str(call.arguments["workspace"]), path)
        return self._edit(call, [Drop(path) for path in paths], "/paths/{}", None, ())

    def _edit(
        self,
        call: Call,
        edits: Sequence[Put | Drop],
        pointer: str,
        base: int | None,
        contents: Sequence[bytes],
    ) -> JsonObject:
        name = str(call.arguments["workspace"])
        before = self._drafts.resolve(name, None, call.run)
        if base is not None and before is not None and before.version != base:
            self._other_base(before, base)
        done = self._drafts.write(name, edits, contents, run=call.run, key=call.key, base=base)
        if done is None:
            self._absent(name, base)
        after, applied = done
        if applied.problems:
            problems = [p.replace(pointer=pointer.format(p.pointer)) for p in applied.problems]
            raise ToolRefusal(
                "Nothing was changed: all of a call happens, or none.", "error", problems
            )
        old = before.root if before else tree.EMPTY
        changes = ((c.path, c) for c in tree.diff(self._fetch, old, after.root))
        return {**summary.facts_of(after), **page("changes", changes, summary.change, len(edits))}

    def _commit(self, call: Call) -> JsonObject:
        name = str(call.arguments["workspace"])
        for change in self._drafts.changes(name, call.run):
            self._check("commit", name, change.path)
        if not grants_of.prefixes(self._grants, "commit", name):
            self._check("commit", name, "")
        outcome = self._drafts.commit(
            name,
            run=call.run,
            key=call.key,
            expected=integer_in(call.arguments, "expected"),
            message=str(call.arguments.get("message", "")),
        )
        match outcome:
            case None:
                head = self._workspaces.head(name)
                detail = "You have no draft here that changes anything."
                return {"workspace": name, "committed": False, "head": head, "detail": detail}
            case DraftCommit(version=made, overwrote=overwrote):
                facts: JsonObject = {
                    "workspace": name,
                    "committed": True,
                    "version": made.number,
                    "root": made.root,
                }
                return {**facts, "overwrote": list(overwrote)} if overwrote else facts
            case VersionConflict():
                return summary.conflict(name, outcome)

    # --- what is granted ----------------------------------------------------------------------

    def _resolve(
        self, call: Call, operation: Operation, path: str, number: int | None = None
    ) -> Resolved | None:
        """Resolve the workspace that a call names. Raises Refusal where it is not granted."""
        name = str(call.arguments["workspace"])
        if fault := name_fault(name):
            raise ToolRefusal(f"The workspace's name {fault}.")
        number = integer_in(call.arguments, "version") if number is None else number
        found = self._drafts.resolve(name, number, call.run)
        self._check(operation, found.workspace if found else name, path)
        return found

    def _must_resolve(
        self, call: Call, operation: Operation, path: str, number: int | None = None
    ) -> Resolved:
        found = self._resolve(call, operation, path, number)
        if found is None:
            number = integer_in(call.arguments, "version") if number is None else number
            self._absent(str(call.arguments["workspace"]), number)
        return found

    def _check(self, operation: Operation, name: str, path: str) -> None:
        if not grants_of.allows(self._grants, operation, name, path):
            where = grants_of.prefixes(self._grants, operation, name)
            detail = f"You may not {operation} {path or 'all'!r} of {name!r}."
            hint = f" Granted: {', '.join(where)}." if where else " Nothing of it is granted."
            raise ToolRefusal(detail + hint, "denied")

    def _absent(self, name: str, number: int | None) -> NoReturn:
        head = self._workspaces.head(name)
        if head:
            raise ToolRefusal(f"There is no version {number} of {name!r}: its head is {head}.")
        raise ToolRefusal(f"There is no workspace {name!r}. To begin it, write with version 0.")

    def _other_base(self, before: Resolved, base: int) -> None:
        if before.draft:
            raise ToolRefusal(
                f"Your draft of {before.workspace!r} began from version {before.version}: commit "
                "it, or write without a version."
            )
        if base == 0:
            raise ToolRefusal(f"{before.workspace!r} exists: its head is version {before.head}.")

    def _fetch(self, digest: str) -> bytes:
        return self._workspaces.blobs.get(digest)


def _refused(number: int, data: bytes | None, fault: str) -> Problem:
    if data is None:
        message = "needs either text or base64, and base64 must be that"
        return Problem(pointer=f"/files/{number}", message=message)
    return Problem(pointer=f"/files/{number}/path", message=fault)


def executors(grants: Sequence[Grant], context: ExecutorContext) -> Iterable[Executor]:
    """Return the executor of the workspaces that a run is granted."""
    yield WorkspaceExecutor(Workspaces(context.blobs, context.versions, context.now), grants)
