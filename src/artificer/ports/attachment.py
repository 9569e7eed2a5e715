"""Attachments: images, sounds and files for a model, from programs, people and tools.

>>> Image.from_path("cat.png")
>>> File.from_bytes(b"a,b\\n1,2\\n", "text/csv", name="figures.csv")

The media type is determined from the bytes. A declared type that contradicts them is refused,
because attachments are sent to models and shown in reports. SVG and HTML are files, because they
can contain scripts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from os import PathLike
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import ClassVar, Literal, Self

from artificer.errors import AuthorError, NotFoundError
from artificer.values.arguments import path as named
from artificer.values.arguments import shown
from artificer.values.base import Value
from artificer.values.blocks import AttachedBlock, AudioBlock, FileBlock, ImageBlock
from artificer.values.canon import digest_of
from artificer.values.media_types import (
    AUDIO,
    BINARY,
    IMAGES,
    MAX_PIXELS,
    MAX_SIDE,
    PDF,
    is_text,
    is_textual,
    normal,
    pixels_of,
    sniffed,
)
from artificer.values.parameters import named_arguments
from artificer.values.text import clip, well_formed
from artificer.values.tokens import tokens_of
from artificer.values.value_type import NamedValueType

MAX_BYTES = 32 * 1024 * 1024
"""Largest attachment that is read at all; `Limits.attachment_bytes` is the limit of a run."""

MAX_NAME = 120

_IMAGE_TOKENS = 5_000
"""Tokens of the largest image: providers scale larger ones down to about this."""

_PAGE_TOKENS = 3_000
"""Tokens of a page of a PDF: its text and a picture of it (Anthropic: up to 3,000 of text)."""


class _Attachment(Value, metaclass=NamedValueType, tag_field="kind"):
    """Bytes with their media type and a name.

    Make one with :meth:`from_path` or :meth:`from_bytes`, which check the bytes.
    """

    data: bytes
    media_type: str
    name: str = ""

    types: ClassVar[tuple[str, ...]] = ()
    """The media types of this kind; if empty, all that no other kind has."""

    made_by: ClassVar[tuple[str, ...]] = ("from_path(path)", "from_bytes(data)")
    """The ways to make one, for hints."""

    @classmethod
    @named_arguments
    def from_path(cls, path: str | PathLike[str]) -> Self:
        """Read a file.

        >>> Image.from_path("cat.png").media_type
        'image/png'

        Raises:
            NotFoundError: there is no such file, or it cannot be read.
            AuthorError: it is not of this kind, or too large.
        """
        text = named("path", path)
        return cls.from_bytes(_read(text), name=Path(text).name)

    @classmethod
    @named_arguments
    def from_bytes(cls, data: bytes, media_type: str = "", *, name: str = "") -> Self:
        """Make an attachment from bytes. Without a ``media_type``, it is determined from them.

        >>> Image.from_bytes(png_bytes, "image/png", name="chart.png")

        Raises:
            AuthorError: the bytes are empty, too many, or not of the media type; or that is not
                one of this kind.
        """
        name = clean_name(name)
        kind = cls.__name__
        subject = f"The {kind.lower()} {name!r}" if name else f"The {kind.lower()}"
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise AuthorError(
                f"{subject} is made of {shown(data)}, not of bytes.",
                hint=f"Read a file with {kind}.from_path(path).",
            )
        if not data or len(data) > MAX_BYTES:
            raise AuthorError(
                f"{subject} has {len(data):,} bytes.", hint=f"It may have 1 to {MAX_BYTES:,}."
            )
        found, claimed = sniffed(data, name), normal(media_type)
        if claimed and not _may_be(data, found, claimed):
            raise AuthorError(
                f"{subject} is claimed to be {claimed}, and its bytes are {found}.",
                hint="Leave out the media type: it is determined from the bytes.",
            )
        own = claimed or found
        if not cls._has(found):
            raise AuthorError(f"{subject} is {own}.", hint=_hint(found, cls.types))
        if found in IMAGES:
            _check_pixels(subject, data, found)
        return cls(data=bytes(data), media_type=own if found not in IMAGES else found, name=name)

    @classmethod
    def _has(cls, media_type: str) -> bool:
        if cls.types:
            return media_type in cls.types
        return media_type not in IMAGES and media_type not in AUDIO

    @property
    def digest(self) -> str:
        """The digest of the bytes: their name in the blob store."""
        return digest_of(self.data)

    @property
    def tokens(self) -> int:
        """Estimate conservatively how many tokens the attachment takes."""
        return tokens_of(self.data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.media_type}, {len(self.data):,} bytes)"


class Image(_Attachment):
    """An image for a model: PNG, JPEG, GIF or WebP."""

    kind: ClassVar[Literal["image"]] = "image"
    types = IMAGES

    @property
    def tokens(self) -> int:
        """Estimate by the size in pixels (Anthropic: width times height by 750)."""
        pixels = pixels_of(self.data, self.media_type)
        if pixels is None:
            return _IMAGE_TOKENS
        return min(_IMAGE_TOKENS, 100 + -(-pixels.width * pixels.height // 750))


class Audio(_Attachment):
    """A sound for a model: WAV, MP3, Ogg or FLAC."""

    kind: ClassVar[Literal["audio"]] = "audio"
    types = AUDIO

    @property
    def tokens(self) -> int:
        """Estimate by the bytes: a second of compressed speech has at least a thousand."""
        return -(-len(self.data) // 100)


class File(_Attachment):
    """A file for a model: a PDF, a text, or any other bytes."""

    kind: ClassVar[Literal["file"]] = "file"

    @property
    def tokens(self) -> int:
        """Estimate from the pages of a PDF, or from the text of anything else."""
        if self.media_type != PDF:
            return tokens_of(self.data)
        pages = self.data.count(b"/Page") - self.data.count(b"/Pages")
        return max(1, pages, len(self.data) // 100_000) * _PAGE_TOKENS


Attachment = Image | Audio | File

Prompt = str | Sequence[str | Image | Audio | File]
"""A text, or texts with attachments."""


def attachment_of(data: bytes, media_type: str = "", *, name: str = "") -> Attachment:
    """Return an attachment of the kind that matches the bytes. Raises AuthorError."""
    found = sniffed(data, name)
    for kind in (Image, Audio):
        if found in kind.types:
            return kind.from_bytes(data, media_type, name=name)
    return File.from_bytes(data, media_type, name=name)


def attachment_at(path: str | PathLike[str]) -> Attachment:
    """Read a file as the kind that matches its bytes. Raises NotFoundError, AuthorError."""
    text = named("path", path)
    return attachment_of(_read(text), name=Path(text).name)


def split_prompt(prompt: Prompt) -> tuple[str, tuple[Attachment, ...]]:
    """Return the text of a prompt, joined by blank lines, and its attachments.

    Raises:
        AuthorError: it holds something else, or nothing.
    """
    if isinstance(prompt, str):
        return prompt, ()
    unknown = _of_no_use(prompt)
    if unknown:
        raise AuthorError(f"A prompt takes texts and attachments, not {unknown}.", hint=_PROMPT)
    attachments = tuple([checked(part) for part in prompt if not isinstance(part, str)])
    text = "\n\n".join([part for part in prompt if isinstance(part, str)])
    if not text and not attachments:
        raise AuthorError("The prompt is empty.", hint=_PROMPT)
    return text, attachments


_PROMPT = "Pass a text, or a list of texts and of Image, Audio and File."


def _of_no_use(prompt: object) -> str:
    """Return the type of the first value that a prompt cannot contain, or nothing."""
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes):
        return type(prompt).__name__
    return next((type(p).__name__ for p in prompt if not isinstance(p, (str, Attachment))), "")


def checked(attachment: Attachment) -> Attachment:
    """Return an attachment whose bytes were checked, however it was made. Raises AuthorError."""
    kind = type(attachment)
    return kind.from_bytes(attachment.data, attachment.media_type, name=attachment.name)


def block_of(attachment: Attachment) -> AttachedBlock:
    """Return the block that records an attachment."""
    kinds: dict[str, type[AttachedBlock]] = {
        "image": ImageBlock,
        "audio": AudioBlock,
        "file": FileBlock,
    }
    return kinds[attachment.kind](
        digest=attachment.digest,
        media_type=attachment.media_type,
        size=len(attachment.data),
        tokens=attachment.tokens,
        name=attachment.name,
    )


def clean_name(name: str) -> str:
    """Return the last part of a path, readable: without control and direction characters."""
    last = PurePosixPath(PureWindowsPath(well_formed(name)).as_posix()).name
    kept = "".join("_" if unicodedata.category(c)[0] == "C" else c for c in last)
    return clip(kept.strip(), MAX_NAME)


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read: {error.strerror}.",
            hint="Check the path and the file's permissions.",
        ) from error


def _may_be(data: bytes, found: str, claimed: str) -> bool:
    """Whether a claim does not contradict the bytes: texts and unknown bytes have many types."""
    if claimed == found:
        return True
    if claimed in (*IMAGES, *AUDIO, PDF) or found in (*IMAGES, *AUDIO, PDF):
        return False
    return is_text(data) if is_textual(claimed) else BINARY in (found, claimed)


def _hint(found: str, types: tuple[str, ...]) -> str:
    if found in IMAGES:
        return "Use Image."
    if found in AUDIO:
        return "Use Audio."
    return f"One of {', '.join(types)} is needed; use File for all else."


def _check_pixels(subject: str, data: bytes, media_type: str) -> None:
    pixels = pixels_of(data, media_type)
    if pixels is None:
        raise AuthorError(f"{subject} is not a whole {media_type}.", hint="Save it again.")
    width, height = pixels.width, pixels.height
    if max(width, height) > MAX_SIDE or width * height > MAX_PIXELS:
        raise AuthorError(
            f"{subject} has {width:,} × {height:,} pixels.",
            hint=f"An image has at most {MAX_SIDE:,} on a side and {MAX_PIXELS:,} in all.",
        )
