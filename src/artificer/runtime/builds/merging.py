"""Merging commits without a worktree and without a model: the same two make the same third."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from artificer.builds.jobs import SpecTip
from artificer.errors import GitError
from artificer.runtime.builds.git import Git
from artificer.values.text import clip, well_formed


@dataclass(frozen=True)
class MergeConflict:
    """Two commits that cannot be merged: in which files, and in git's own words."""

    paths: tuple[str, ...]
    report: str
    tip: SpecTip | None = None


async def merge(git: Git, ours: str, theirs: str, message: str) -> str | MergeConflict:
    """Merge two commits without any worktree; return the commit, or in what they conflict."""
    base = await git.merge_base(ours, theirs)
    if base in (ours, theirs):
        return theirs if base == ours else ours
    answer = await git.ask("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs)
    if answer.exit_code not in (0, 1):
        raise GitError(f"git merge-tree failed: {clip(answer.err, 300)}.")
    head, _, report = answer.out.partition("\0\0")
    tree, *paths = head.split("\0")
    if answer.exit_code == 1:
        return MergeConflict(tuple(map(well_formed, paths)), _messages(report))
    times = map(int, (await git.run("show", "-s", "--format=%ct", ours, theirs)).split())
    parents = ("-p", ours, "-p", theirs)
    return await git.run(
        "commit-tree", tree.rstrip("\0"), *parents, "-m", message_of(message), at=max(times)
    )


async def fold(git: Git, base: str, tips: Sequence[SpecTip]) -> str | MergeConflict:
    """Merge tips onto a base, one after the other."""
    commit = base
    for tip in tips:
        merged = await merge(git, commit, tip.commit, f"Merge {tip.spec}")
        if isinstance(merged, MergeConflict):
            return MergeConflict(merged.paths, merged.report, tip)
        commit = merged
    return commit


def message_of(text: str) -> str:
    """A commit message: no control characters, a short first line."""
    lines = ["".join(c for c in line if c >= " ") for line in well_formed(text).splitlines()]
    first = clip(lines[0].strip() if lines else "", 100) or "Work"
    return "\n".join([first, *lines[1:]])[:4_000]


def _messages(messages: str) -> str:
    """Return git's messages about conflicts, each with paths, a kind and a text."""
    fields = messages.split("\0")
    lines: list[str] = []
    while len(fields) > 2 and fields[0].lstrip("\n").isdigit():
        count = int(fields[0])
        lines += [line for line in fields[count + 2 : count + 3] if "CONFLICT" in line]
        fields = fields[count + 3 :]
    return well_formed("".join(lines)).strip()
