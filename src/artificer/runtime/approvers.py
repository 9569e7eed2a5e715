"""Approvers for runs without a person."""

from __future__ import annotations

from artificer.ports import Answer, Question


class Refuser:
    """Says no to everything: for runs that must not wait."""

    async def ask(self, question: Question) -> Answer:
        """Refuse (ports.Approver)."""
        return Answer(approved=False, by="nobody", reason="There is nobody here to ask.")
