"""The ends of functions, as the model reads them and the log keeps them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from artificer.backends.function.results import (
    NoJsonError,
    data_of,
    split_result,
    text_of,
)
from artificer.errors import message_of, places
from artificer.ports import Attachment
from artificer.values.text import clip, head_and_tail, well_formed

MAX_CONTENT = 8_000_000
"""Characters of a result that are kept; of a longer one, its beginning and its end. A worker over
HTTP stores that many, whatever they are. How many of them a model reads is a limit of its run.
"""

MAX_ERROR = 2_000
"""Characters of an exception's message that a model reads."""

_RAN = "The function ran to its end."

_NOT_AWAITED = "The function did not run: it only returned a coroutine, which has to be awaited."


class Ended(Struct, frozen=True):
    """The end of a function: its result or error as text, its data, and the places of an error."""

    status: Literal["ok", "error"]
    content: str
    trace: str = ""
    attachments: tuple[Attachment, ...] = ()
    data: str | None = None

    @property
    def has_returned(self) -> bool:
        """Whether the function came to its end, and did not raise an error."""
        return self.status == "ok" or self.content.startswith(_RAN)

    async def cut(self, clean: Callable[[str], str]) -> Ended:
        """Return the end with no more text than is kept. ``clean`` takes secrets out of a text
        first, in a thread, or a part of one could be left where it is cut.
        """
        ok = self.status == "ok"
        if len(self.content) <= (MAX_CONTENT if ok else MAX_ERROR):
            return self
        text = await asyncio.to_thread(clean, self.content)
        shown = head_and_tail(text, MAX_CONTENT) if ok else clip(text, MAX_ERROR)
        return replace(self, content=shown)


def returned(result: Any) -> Ended:
    """Return the end of a function that has returned a result."""
    if inspect.iscoroutine(result):
        result.close()
        return Ended("error", _NOT_AWAITED, _NOT_AWAITED)
    try:
        rest, attachments = split_result(result)
        text = text_of(rest)
        data = data_of(rest, text)
    except NoJsonError as error:  # not a failure of the function: it may have changed something
        return Ended("error", f"{_RAN} {error}", str(error))
    except Exception as error:  # noqa: BLE001 - the code of the result's type may raise anything
        why = f"{_RAN} Its result has no JSON form: {_shown_error(error)}"
        return Ended("error", why, places(error))
    return Ended("ok", well_formed(text), attachments=attachments, data=data)


def failed(error: BaseException) -> Ended:
    """Return the end of a function that has raised an error."""
    return Ended("error", _shown_error(error), places(error))


def _shown_error(error: BaseException) -> str:
    return well_formed(f"{type(error).__name__}: {message_of(error)}")


def end_of(function: Callable[..., Any], arguments: dict[str, Any]) -> Ended:
    """Call a function and return its end."""
    try:
        return returned(function(**arguments))
    except BaseException as error:  # noqa: BLE001 - what a tool raises is its result
        return failed(error)
