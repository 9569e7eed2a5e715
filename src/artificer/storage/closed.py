"""The error for who uses a storage that is closed."""

from __future__ import annotations

from artificer.errors import AuthorError


def closed(what: str) -> AuthorError:
    """Return the error for a journal or another storage that is closed."""
    return AuthorError(
        f"The {what} is closed.",
        hint="Keep the world open until its runs have ended: "
        "async with World.open() as world: await agent.run(…, world=world)",
    )
