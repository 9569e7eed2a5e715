"""The port to the person who approves calls."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from artificer.values.value_type import NamedType


class Question(Struct, metaclass=NamedType, frozen=True):
    """A call that needs a person's approval; ``digest`` binds the answer to exactly this call."""

    run: str
    tool: str
    arguments: str
    reason: str
    digest: str


class Answer(Struct, metaclass=NamedType, frozen=True):
    """A person's answer: ``by`` says who, ``reason`` why."""

    approved: bool
    by: str
    reason: str = ""


class Approver(Protocol):
    """Asks a person."""

    async def ask(self, question: Question) -> Answer:
        """Wait for the answer."""
