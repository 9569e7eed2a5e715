"""The output of an agent's runs: its type, function and check read a reply and return the value."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from artificer.agent_definition import AgentDefinition
from artificer.contracts.output import (
    LONGEST_MESSAGE,
    OutputType,
    RejectedOutputError,
    broken,
    output_type,
    type_name,
)
from artificer.contracts.response_format import ResponseFormat, format_of
from artificer.core.spec import RunSpec
from artificer.errors import AuthorError, ConfigError, message_of
from artificer.system.tasks import cancelling
from artificer.values.base import Problem
from artificer.values.text import clip


class OutputReader(Struct, eq=False):
    """Reads the replies of one run, and keeps the value of the last one that was accepted."""

    kind: OutputType | None
    check: Callable[[Any], Any] | None
    is_json: bool
    _accepted: dict[str, Any] = {}

    async def problems(self, text: str) -> tuple[Problem, ...]:
        """Return the violations of a reply, none if it is accepted.

        Raises:
            AuthorError: the agent's own code failed, instead of accepting or rejecting.
        """
        self._accepted.clear()
        try:
            self._accepted[text] = await self._read(text)
        except RejectedOutputError as rejected:
            return rejected.problems
        return ()

    async def value(self, text: str) -> Any:
        """Return the value of an accepted reply. Raises AuthorError if it is rejected now."""
        if text not in self._accepted and (problems := await self.problems(text)):
            raise AuthorError(
                f"The recorded output is no longer accepted: {problems[0].message}",
                hint="Read it without the agent: `world.get(run_id)` returns the recorded JSON.",
            )
        return self._accepted[text]

    async def _read(self, text: str) -> Any:
        value = text
        if self.kind is not None:
            value = self.kind.parse(text)
            if self.kind.function is not None:
                args, kwargs = value
                value = await _call(self.kind.function, *args, **kwargs)
        elif self.is_json:
            value = json.loads(text)
        if self.check is None:
            return value
        checked = await _call(self.check, value)
        return value if checked is None else checked


async def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the agent's author: a synchronous one in a thread. Await its result.

    Raises:
        RejectedOutputError: it raised ValueError or AssertionError.
        AuthorError: it raised something else.
    """
    if inspect.iscoroutinefunction(function):
        with _verdict_of(function):
            return await function(*args, **kwargs)

    def called() -> Any:
        with _verdict_of(function):  # in the thread: StopIteration does not get out of one
            return function(*args, **kwargs)

    found = await asyncio.to_thread(called)
    if not inspect.isawaitable(found):
        return found
    with _verdict_of(function):
        return await found


@contextmanager
def _verdict_of(function: Callable[..., Any]) -> Iterator[None]:
    """Turn what a function of the agent's author raises into a rejection or an author's error."""
    try:
        yield
    except (ValueError, AssertionError) as error:
        message = clip(message_of(error) or type(error).__name__, LONGEST_MESSAGE)
        raise RejectedOutputError([Problem(pointer="", message=message)]) from error
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and cancelling():
            raise
        raise broken(f"{type_name(function)}, which accepts or rejects replies,", error) from error


def output_reader(agent: AgentDefinition[Any], spec: RunSpec) -> OutputReader | None:
    """Return the reader of a run's replies, or None if the agent has nothing to read them with.

    Raises:
        ConfigError: the run's replies are checked by a type or a function that the agent lacks.
    """
    recorded, source = spec.response_format, agent.output
    if spec.kind != "chat":
        return None
    _require_source(recorded, source)
    name = type_name(agent.check) if agent.check else ""
    if name != spec.output_check:
        raise ConfigError(
            f"The replies of this run are checked by {spec.output_check or 'no function'}, "
            f"but the agent's check is {name or 'missing'}.",
            hint="Resume the run with the agent that started it.",
        )
    kind = output_type(source) if recorded is not None and recorded.type else None
    if kind is None and agent.check is None:
        return None
    return OutputReader(kind, agent.check, recorded is not None)


def _require_source(recorded: ResponseFormat | None, source: Any) -> None:
    if recorded is None or not recorded.type:
        return
    if source is None or format_of(source).type == "":
        raise ConfigError(
            f"The replies of this run are checked by the type {recorded.type}, which is missing.",
            hint=f"Resume it from Python with Agent(output={recorded.type.rpartition('.')[2]}).",
        )
    if format_of(source) != recorded:
        raise ConfigError(
            f"The type {recorded.type} has changed since the run started.",
            hint="Resume it with the original type, or run the prompt again.",
        )
