"""The host tools that change files: writing, editing, patching."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from artificer.artifacts.names import is_gits_head
from artificer.backends.answer import ToolRefusal, receipt_of
from artificer.backends.host import reading
from artificer.backends.host.changes import Changer, HostChange
from artificer.backends.host.folder import Content, Folder, PathParts
from artificer.backends.host.known import KnownFiles
from artificer.backends.host.spec.edit import Edited, edit
from artificer.backends.host.spec.patch import FilePatch, PatchError, apply, parse
from artificer.ports import Call, Receipt
from artificer.values.base import Problem
from artificer.values.canon import canonical, digest_of

SHOWN = 4
"""Lines that are shown around a change."""

CHANGING = frozenset({"host.write", "host.edit", "host.patch"})
"""The tools that change files."""


class HostWriter:
    """Performs the calls of the tools that change files."""

    def __init__(
        self, folder: Folder, changer: Changer, known: KnownFiles, protect: Sequence[str]
    ) -> None:
        """Files whose path has a step in ``protect`` are never changed."""
        self._folder = folder
        self._changer = changer
        self._known = known
        self._protected = frozenset(name.casefold() for name in protect)
        self._works: dict[str, Callable[[Call], str]] = {
            "host.write": self._write,
            "host.edit": self._edit,
            "host.patch": self._patch,
        }

    def perform(self, call: Call) -> Receipt:
        """Perform a call that changes files, or finish what it had started before a crash."""
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
            self._known.learn(call.run, step.path, step.after or "")
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
            self._known.learn(call.run, path, digest_of(data))
            return f"{path} has this text already · {digest_of(data)}"
        self._require_expected(call, path, old, arguments.get("expect"))
        what = "written anew" if old else "made"
        answer = f"{path} {what} · {len(data)} bytes · {digest_of(data)}"
        return self._make(call, [HostChange(path, old, new)], answer)

    def _require_expected(self, call: Call, path: str, old: Content | None, expect: object) -> None:
        if expect == "absent":
            if old is not None:
                raise ToolRefusal(f"{path!r} exists already, and was to be new.")
        elif expect is not None:
            if old is None or digest_of(old.data) != expect:
                have = "is not there" if old is None else f"has the digest {digest_of(old.data)}"
                raise ToolRefusal(f"{path!r} {have}, and not the one that was expected.")
        elif old is not None:
            self._known.require(call.run, path, old.data, whole=True)

    def _edit(self, call: Call) -> str:
        arguments = call.arguments
        parts = self._writable(str(arguments["path"]))
        path, old = "/".join(parts), self._folder.read(parts)
        text = reading.text_of(path, old.data)
        self._known.require(call.run, path, old.data)
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
                self._known.require(call.run, path, old.data)
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

    def _writable(self, path: str) -> PathParts:
        parts = self._folder.parts(path)
        if not parts:
            raise ToolRefusal("The folder itself is no file.")
        for part in parts:
            if part.casefold() in self._protected:
                raise ToolRefusal(f"{path!r} is protected: {part!r} is not written here.", "denied")
        if is_gits_head(parts[-1]):
            raise ToolRefusal(
                f"{path!r} is not written: with it git may take its folder for a repository, and "
                "run the programs that its configuration names.",
                "denied",
            )
        return parts


def _word(change: HostChange) -> str:
    if change.before is None:
        return "made"
    return "removed" if change.after is None else "changed"
