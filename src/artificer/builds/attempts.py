"""Attempts at one artifact: their reports, their repetitions and their limit.

No conversation carries over from one attempt to the next, only the output of validators.
"""

from __future__ import annotations

import re
from typing import Literal

from artificer.values.base import Digest, Text, Value
from artificer.values.canon import digest_of
from artificer.values.text import head_and_tail

MAX_REPORTS = 5
"""Reports that an attempt gets, the newest last."""

MAX_REPORT = 6_000
"""Characters of one report. The middle is cut, because programs end with the result."""

_VOLATILE = (
    r"(?:/tmp|/var/folders)\S*"  # temporary places
    r"|\b(?:0x)?[0-9a-f]{7,}\b"  # addresses and hashes
    r"|\d+"  # times, counts, lines, process ids
)


class Attempts(Value):
    """The state of the work at one artifact.

    ``doing`` is ``off`` when nothing is to do. ``number`` counts its runs, ``failures`` the failed
    ones since it was last given up or retried, ``review`` is the number of its pass. ``reports``
    are the validators' reports of failed ones, ``signatures`` those reports without the parts that
    differ between two runs of the same failure.
    """

    doing: Literal["off", "idle", "running", "checking", "exhausted"] = "off"
    number: int = 0
    failures: int = 0
    review: int = 0
    reports: tuple[Text, ...] = ()
    signatures: tuple[Digest, ...] = ()

    def begun(self) -> Attempts:
        """Return a copy with the first run due."""
        return self.replace(doing="idle")

    def with_report(self, report: str) -> Attempts:
        """Return a copy with one more report for the next run."""
        reports = (*self.reports, head_and_tail(report.strip(), MAX_REPORT))[-MAX_REPORTS:]
        return self.replace(reports=reports)

    def failed(self, report: str, *, limit: int, repeats: int) -> Attempts:
        """Return a copy after a failure: due again, or exhausted.

        It is exhausted after ``limit`` failures, or when the same one came ``repeats`` times,
        regardless of the failures in between.
        """
        mark = signature(report)
        signatures = (*self.signatures, mark)
        over = self.failures + 1 >= limit or signatures.count(mark) >= repeats
        return self.with_report(report).replace(
            doing="exhausted" if over else "idle", failures=self.failures + 1, signatures=signatures
        )

    def revived(self, hint: str) -> Attempts:
        """Return a copy with new attempts, after a person requested a retry."""
        fresh = self.with_report(f"A person says: {hint}") if hint.strip() else self
        return fresh.replace(doing="idle", failures=0, signatures=())

    def why(self, repeats: int) -> str:
        """Return why it is exhausted, as a clause."""
        last = self.signatures[-1] if self.signatures else None
        times = self.signatures.count(last) if last else 0
        if times >= repeats:
            return f"the same failure came {times} times"
        return f"{self.failures} attempt{'' if self.failures == 1 else 's'} failed"


def signature(report: str) -> Digest:
    """Return the digest of a report without numbers, hashes, temporary paths, case and spacing."""
    plain = " ".join(re.sub(_VOLATILE, "#", report.lower()).split())
    return digest_of(plain.encode())
