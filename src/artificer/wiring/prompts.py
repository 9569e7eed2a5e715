"""The attachments of a prompt, checked before they are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from artificer.core.attachments import Attached, described
from artificer.core.spec import Limits
from artificer.errors import AuthorError, ConfigError
from artificer.ports import Attaching, Attachment, Provider
from artificer.ports.attachment import block_of
from artificer.values.blocks import AttachedBlock

NOTHING_ATTACHED = Attached()
"""The attachments of a conversation that begins."""


def attached_blocks(
    attachments: Sequence[Attachment],
    models: Mapping[str, Provider],
    limits: Limits,
    before: Attached = NOTHING_ATTACHED,
) -> tuple[AttachedBlock, ...]:
    """Return what is recorded of a prompt's attachments; ``before`` counts the earlier ones.

    ``models`` are the providers of the model and its fallbacks, by ``provider/model``.

    Raises:
        AuthorError: they are more than the limits allow.
        ConfigError: the model, or a fallback of it, cannot read one of them.
    """
    blocks = tuple(map(block_of, attachments))
    for number, block in enumerate(blocks):
        if fault := before.plus(blocks[:number]).fault(block, limits):
            raise AuthorError(
                f"{_subject(block)} is too much: {fault}.",
                hint="Attach less, or raise Limits(attachments, attachment_bytes, attached_bytes).",
            )
        for name, provider in models.items():
            if fault := _fault(provider, block):
                raise ConfigError(
                    f"{_subject(block)} cannot be sent to {name}: {fault}.",
                    hint="Choose a model that reads such attachments, or put their text in the "
                    "prompt.",
                )
    return blocks


def _fault(provider: Provider, block: AttachedBlock) -> str:
    if isinstance(provider, Attaching):
        return provider.attachment_fault(block)
    return "this model reads text only"


def _subject(block: AttachedBlock) -> str:
    return f"The {described(block)}"
