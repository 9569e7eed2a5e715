"""Attempts at one artifact: what earlier ones were told, when they repeat, when they are too many.

Nothing conversational goes from one attempt to the next, only what validators themselves said.
"""

from __future__ import annotations

import re
from typing import Literal

from artificer.values.base import Digest, Text, Value
from artificer.values.canon import digest_of
from artificer.values.text import head_and_tail

MAX_REPORTS = 5
"""Reports that an attempt is given, the newest last."""

MAX_REPORT = 6_000
"""Characters of one report; its middle goes first, for programs end with what counts."""

_VOLATILE = re.compile(
    r"(?:/tmp|/var/folders)\S*"  # temporary places
    r"|\b(?:0x)?[0-9a-f]{7,}\b"  # addresses and hashes
    r"|\d+"  # times, counts, lines, process ids
)


class Attempts(Value):
    """Where the work at one artifact stands.

    ``doing`` is ``off`` when nothing is owed. ``number`` counts its runs, ``failures`` those that
    failed since it was last given up or taken up again, ``review`` says which pass it is in.
    ``reports`` are what validators said of failed ones, ``signatures`` those reports without what
    differs between two runs of the same failure.
    """

    doing: Literal["off", "idle", "running", "checking", "exhausted"] = "off"
    number: int = 0
    failures: int = 0
    review: int = 0
    reports: tuple[Text, ...] = ()
    signatures: tuple[Digest, ...] = ()

    def begun(self) -> Attempts:
        """The same, with its first run due."""
        return self.replace(doing="idle")

    def told(self, report: str) -> Attempts:
        """The same, with one more report for the next run."""
        reports = (*self.reports, head_and_tail(report.strip(), MAX_REPORT))[-MAX_REPORTS:]
        return self.replace(reports=reports)

    def failed(self, report: str, *, most: int, repeats: int) -> Attempts:
        """The same after a failure: due again, or exhausted.

        It is exhausted after ``most`` failures, or when the same one came ``repeats`` times,
        whatever came between: going in circles is no progress.
        """
        mark = signature(report)
        signatures = (*self.signatures, mark)
        over = self.failures + 1 >= most or signatures.count(mark) >= repeats
        return self.told(report).replace(
            doing="exhausted" if over else "idle", failures=self.failures + 1, signatures=signatures
        )

    def revived(self, hint: str) -> Attempts:
        """The same with a fresh budget, after somebody asked for it."""
        fresh = self.told(f"A person says: {hint}") if hint.strip() else self
        return fresh.replace(doing="idle", failures=0, signatures=())

    def why(self, repeats: int) -> str:
        """Why it is exhausted, in a clause."""
        last = self.signatures[-1] if self.signatures else None
        times = self.signatures.count(last) if last else 0
        if times >= repeats:
            return f"the same failure came {times} times"
        return f"{self.failures} attempt{'' if self.failures == 1 else 's'} failed"


def signature(report: str) -> Digest:
    """Digest of a report without numbers, hashes, temporary paths, case and spacing."""
    plain = " ".join(_VOLATILE.sub("#", report.lower()).split())
    return digest_of(plain.encode())
