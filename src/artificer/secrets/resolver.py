"""Finding secrets: every place that needs a value asks here, and records the reference alone.

The redactor learns a value before it is handed out (invariant 9).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import Protocol
from weakref import WeakSet

from artificer.contracts.secret_references import PREFIXES
from artificer.errors import OperatorError
from artificer.ports import FoundSecrets, SecretSource
from artificer.secrets.answers import NAME, listed, resolved
from artificer.secrets.environment import Variables
from artificer.secrets.made import looks_made
from artificer.secrets.remembering import Remembering

THREADS = 8
"""Threads that ask sources which are not local: no other work waits for them."""

PATIENCE_S = 30.0
"""Seconds after which a source that has not answered is given up."""


class LearnsSecrets(Protocol):
    """Takes secrets out of texts."""

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Take these values out too, which have these names."""


class Secrets:
    """The sources of secrets, in the order in which they are asked; the first value counts.

    ``keys`` are the sources of the keys of providers, which have the names of variables. A source
    that cannot be asked ends the search: the value in a later one may be that of another account.
    """

    def __init__(
        self, sources: Sequence[SecretSource], keys: Sequence[SecretSource] | None = None
    ) -> None:
        self.local = all(source.local for source in sources)
        """Whether all sources answer at once."""
        self._sources = tuple(map(_remembering, sources))
        self._keys = self._sources if keys is None else tuple(map(_remembering, keys))
        self._known: dict[str, str] = {}
        self._learners: WeakSet[LearnsSecrets] = WeakSet()
        self._lock = threading.Lock()

    def find(self, names: Iterable[str]) -> FoundSecrets:
        """Return the secrets of references. It waits for sources that are not local."""
        wanted = tuple(names)
        odd = next((name for name in wanted if not NAME.fullmatch(name)), None)
        if odd is not None:
            return FoundSecrets(name=odd, missing=f"{odd!r} cannot be the name of a secret")
        return self._search(self._sources, wanted)

    async def found(self, names: Iterable[str], seconds: float = PATIENCE_S) -> FoundSecrets:
        """Return the secrets of references within a time, and let others work meanwhile."""
        wanted = tuple(names)
        if not wanted:
            return FoundSecrets()
        return await self._apart(lambda: self.find(wanted), wanted[0], seconds)

    def find_key(self, variable: str) -> FoundSecrets:
        """Return the key that a variable of the environment holds, or another source."""
        return self._search(self._sources_of_key(variable), (variable,))

    async def found_key(self, variable: str) -> FoundSecrets:
        """Return the same within a time, and let others work meanwhile."""
        return await self._apart(lambda: self.find_key(variable), variable, PATIENCE_S)

    def place_of_key(self, variable: str) -> str:
        """Return where a key is found, for people; empty if it is not, or cannot be read."""
        with suppress(OperatorError):
            for source in self._sources_of_key(variable):
                if self._resolve(source, variable) is not None:
                    return source.place(variable)
        return ""

    def places(self, name: str) -> tuple[str, ...]:
        """Return where a secret is looked for, for people, in this order."""
        return tuple(source.place(name) for source in self._sources)

    def fault(self) -> str:
        """Return why a source cannot be asked; empty if all can. It waits for them."""
        for source in self._sources:
            try:
                resolved(source, "artificer_doctor")
            except OperatorError as error:
                return f"{error.message.rstrip('.')}. {error.hint or ''}".rstrip()
        return ""

    def at_hand(self) -> dict[str, str]:
        """Return what local sources list by themselves."""
        found: dict[str, str] = {}
        for source in reversed(self._sources):
            if source.local:
                with suppress(OperatorError):
                    found |= listed(source)
        return found

    async def prepare(self) -> None:
        """Collect the values that other sources list; texts are redacted from now on."""
        if not self.local:
            await self._apart(self._ask_ahead, "", PATIENCE_S)

    def teach(self, learner: LearnsSecrets) -> None:
        """Let someone learn what was resolved, and all that will be."""
        with self._lock:
            self._learners.add(learner)
            learner.learn(self._known)

    def _sources_of_key(self, variable: str) -> Sequence[SecretSource]:
        """Return the sources of a key. The environment alone has names with other characters."""
        named = NAME.fullmatch(variable)
        return [s for s in self._keys if named or isinstance(s, Variables)]

    def _search(self, sources: Sequence[SecretSource], names: Iterable[str]) -> FoundSecrets:
        found: dict[str, str] = {}
        for name in names:
            value = None
            try:
                for source in sources:
                    if (value := self._resolve(source, name)) is not None:
                        break
            except OperatorError as error:
                missing = f"the secret {name!r} cannot be read: {error.message.rstrip('.')}"
                hint = error.hint or ""
                return FoundSecrets(name=name, missing=missing, hint=hint, unknown=True)
            if value is None:
                return _absent(name, sources)
            found[name] = value
        return FoundSecrets(found)

    def _resolve(self, source: SecretSource, name: str) -> str | None:
        value = resolved(source, name)
        if value is not None:
            self._learn({name: value}, keep=not source.local)
        return value

    def _learn(self, secrets: Mapping[str, str], *, keep: bool) -> None:
        """Pass values on to the learners before anyone gets them.

        Only what can be read again, from a local source, is not kept for later learners.
        """
        with self._lock:
            self._known |= secrets if keep else {}
            for learner in self._learners:
                learner.learn(secrets)

    def _ask_ahead(self) -> FoundSecrets:
        for source in self._sources:
            if not source.local:
                made = {n: v for n, v in source.at_hand().items() if looks_made(v)}
                self._learn(made, keep=True)
        return FoundSecrets()

    async def _apart(
        self, ask: Callable[[], FoundSecrets], name: str, seconds: float
    ) -> FoundSecrets:
        if self.local:
            return ask()
        asking = asyncio.get_running_loop().run_in_executor(_threads(), ask)
        try:
            return await asyncio.wait_for(asking, seconds)
        except TimeoutError:
            missing = f"the secret {name!r} was not found within {seconds:g} s"
            return FoundSecrets(name=name, missing=missing, unknown=True)


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, "artificer-secrets")


def _absent(name: str, sources: Sequence[SecretSource]) -> FoundSecrets:
    places = [source.place(name) for source in sources]
    if len(places) == 1:
        of_environment = isinstance(sources[0], Variables)
        hint = f"Set the environment variable {places[0]}." if of_environment else "Add it there."
        return FoundSecrets(name=name, missing=f"{places[0]} is not set", hint=hint)
    looked = ", ".join(places) or "nowhere"
    hint = "Add it to one of them." if places else "Name a source in the setting secrets."
    return FoundSecrets(
        name=name, missing=f"the secret {name!r} is not set; looked for: {looked}", hint=hint
    )


def _remembering(source: SecretSource) -> SecretSource:
    return source if source.local else Remembering(source)


def of_environment(environment: Mapping[str, str]) -> Secrets:
    """Return the secrets in the variables of an environment."""
    return Secrets((Variables(environment, PREFIXES),), (Variables(environment),))


ENVIRONMENT = of_environment(os.environ)
"""The secrets in the variables of this process."""
