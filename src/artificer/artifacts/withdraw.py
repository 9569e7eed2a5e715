"""``withdraw_artifact``: remove an artifact from the report, and the duty to cite it.

A revision of a report must keep every citation. This call is the only way to drop one, so that
the journal shows who dropped what and when. A citation of an artifact that was never made can be
withdrawn too.
"""

from __future__ import annotations

from typing import Annotated

from artificer.artifacts.fields import text
from artificer.artifacts.file_name import MAX_NAME
from artificer.artifacts.ref import ArtifactKind, ArtifactRef, MadeKind
from artificer.values.base import JsonObject, Meta, Problem, Value

NAME = "withdraw_artifact"


class Withdrawal(Value):
    """An artifact by its kind and id."""

    kind: Annotated[ArtifactKind, Meta(description="What it is.")]
    id: Annotated[
        str, Meta(min_length=1, max_length=MAX_NAME, description="Its id; a file's name.")
    ]

    @property
    def subject(self) -> str:
        """The artifact as ``kind:id``."""
        return f"{self.kind}:{self.id}"


def problems(arguments: JsonObject, made: tuple[ArtifactRef, ...]) -> tuple[Problem, ...]:
    """Return a problem for an id that differs from an artifact's only in case."""
    kind, artifact_id = text(arguments, "kind"), text(arguments, "id")
    ids = [ref.id for ref in made if ref.kind == kind]
    if artifact_id is None or artifact_id in ids:
        return ()
    near = [known for known in ids if known.lower() == artifact_id.lower()]
    if not near:
        return ()
    message = f"differs only in case from the {kind} {near[0]!r}: write it like that"
    return (Problem(pointer="/id", message=message, actual=artifact_id),)


def withdrawal(arguments: JsonObject) -> Withdrawal:
    """Return the artifact that accepted arguments withdraw."""
    return Withdrawal.from_json(arguments)


def describe(gone: Withdrawal) -> str:
    """Return the result of the call, for the model."""
    return (
        f'{NAME}: {gone.kind} "{gone.id}" is not part of the report any more.'
        " If the text cites it, send the whole text without that placeholder."
    )


def without(made: tuple[ArtifactRef, ...], gone: Withdrawal) -> tuple[ArtifactRef, ...]:
    """Return the artifacts without the withdrawn one."""
    key: tuple[MadeKind, str] = (gone.kind, gone.id)
    return tuple(ref for ref in made if (ref.kind, ref.id) != key)
