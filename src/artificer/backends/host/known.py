"""The contents that runs have seen of a folder's files."""

from __future__ import annotations

from artificer.backends.answer import ToolRefusal
from artificer.values.canon import digest_of


class KnownFiles:
    """The files that each run has read or written: it changes no other."""

    def __init__(self, *, read_first: bool) -> None:
        """Without ``read_first`` a run has to know a file only to replace the whole of it."""
        self._read_first = read_first
        self._seen: dict[tuple[str, str], str] = {}
        self._resumed: set[str] = set()

    def learn(self, run: str, path: str, digest: str) -> None:
        """Note the content that a run has seen of a file; empty for a file that it removed."""
        self._seen[run, path] = digest

    def resume(self, run: str) -> None:
        """Note that a run was taken up again: it may have read files that nobody here knows of."""
        self._resumed.add(run)

    def forget(self, run: str) -> None:
        """Forget what a run has seen."""
        self._resumed.discard(run)
        self._seen = {key: digest for key, digest in self._seen.items() if key[0] != run}

    def require(self, run: str, path: str, data: bytes, *, whole: bool = False) -> None:
        """Raise ToolRefusal unless the run has seen a file with this content.

        ``whole`` is for a change that replaces all of it.
        """
        if not (self._read_first or whole):
            return
        seen = self._seen.get((run, path))
        if seen == digest_of(data):
            return
        if seen is not None:
            raise ToolRefusal(f"{path!r} has changed since you read it. Read it again.")
        other = ", or give its digest as `expect`" if whole else ""
        why = " The run was interrupted since." if run in self._resumed else ""
        raise ToolRefusal(f"Read {path!r} first{other}.{why}")
