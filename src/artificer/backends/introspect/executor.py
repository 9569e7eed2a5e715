"""Performing the introspect tools: consistent reads of the run that asks, secrets taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from artificer.backends.answer import ToolRefusal, integer_in, receipt_of, refused
from artificer.backends.context import ExecutorContext
from artificer.backends.introspect import describe as tell
from artificer.backends.introspect.module import Module
from artificer.backends.introspect.spec import TOOLS
from artificer.contracts.definition import ToolDefinition
from artificer.errors import BugError
from artificer.ports import Call, Executor, Receipt, RunReader, RunView, SecretCleaner
from artificer.system.tasks import in_thread
from artificer.values.base import JsonObject

Tell = Callable[[RunView, JsonObject], JsonObject]


class IntrospectExecutor:
    """Answers a run's questions about itself, and about no other run."""

    def __init__(self, reader: RunReader, module: Module, redactor: SecretCleaner) -> None:
        self._reader = reader
        self._redactor = redactor
        self._tells: dict[str, Tell] = {
            "introspect.manifest": tell.manifest,
            "introspect.schemas": tell.schemas,
            "introspect.module": partial(tell.module, module),
            "introspect.state": partial(tell.state, clean=redactor.clean),
            "introspect.journal_head": tell.journal_head,
        }

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The five tools."""
        return TOOLS

    async def execute(self, call: Call) -> Receipt:
        """Perform a call."""
        name = call.definition.name
        if name not in self._tells:
            raise BugError(f"This executor has no tool {name!r}.")
        try:
            view = await self._view(call)
        except ToolRefusal as refusal:
            return refused(name, refusal)
        receipt = await in_thread(partial(receipt_of, name, partial(self._answer, call, view)))
        return receipt.replace(content=self._redactor.clean(receipt.content))

    def _answer(self, call: Call, view: RunView) -> JsonObject:
        answer = self._tells[call.definition.name](view, call.arguments)
        return {"run": call.run, "height": view.height, "hash": view.hash, **answer}

    async def _view(self, call: Call) -> RunView:
        """The run at the height that the call asks for. Raises Refusal if there is none."""
        least, exact = (integer_in(call.arguments, name) for name in ("at_least", "exact"))
        if least is not None and exact is not None:
            raise ToolRefusal("Say at_least or exact, and not both.", "invalid")
        view = await self._reader.view(call.run, exact)
        wanted = exact or least or 0
        if view.height < wanted:
            raise ToolRefusal(f"The journal is at height {view.height}, and not yet at {wanted}.")
        return view


def executors(granted: bool, context: ExecutorContext) -> Iterable[Executor]:
    """Return the executor of a run's questions about itself."""
    yield IntrospectExecutor(context.reader, Module(context.config_digest), context.redactor)
