"""The requests of a run to its model, as its provider would send them, and their digests."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Sequence
from typing import TypeGuard

from artificer.contracts.definition import ModelRequest
from artificer.core.context import summary_request
from artificer.core.intents import Compact, Generate, Intent
from artificer.core.outputs import tools_blob
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.window import Window, sent
from artificer.errors import ArtificerError, AuthorError, CanonicalError, InvariantError
from artificer.plugins import described, package_of
from artificer.ports import Memo, PreparedRequest, Provider, Switching
from artificer.values.base import JsonObject
from artificer.values.blocks import Message
from artificer.values.by_identity import ByIdentity
from artificer.values.canon import ListDigest, digest_of


def asks(intent: Intent) -> TypeGuard[Generate | Compact]:
    """Whether an intent is performed by a request to the model."""
    return type(intent) is Generate or (type(intent) is Compact and intent.max_tokens > 0)


def provider_of(provider: Provider, spec: RunSpec) -> Provider:
    """Return the provider of a run's present model."""
    # Every request asks this, and `isinstance` with a protocol takes 20 µs in Python 3.11.
    choose: Callable[[int], Provider] | None = getattr(provider, Switching.with_left.__name__, None)
    return choose(len(spec.fallbacks)) if choose else provider


def provider_error(
    provider: Provider, what: str, hint: str = "Fix it and resume the run."
) -> AuthorError:
    """Return the error for a provider that breaks its protocol by ``what``."""
    package = package_of(provider)
    named = f"{provider.name} of {package}" if package else provider.name
    return AuthorError(f"The provider {named} {what}", hint=hint)


def _tools_of(fields: JsonObject, name: str) -> tuple[str, bytes] | None:
    blob = tools_blob(name, fields)
    return None if blob is None else (digest_of(blob), blob)


_tools_in = ByIdentity(_tools_of, 16)
"""Many runs share the fields of their requests."""


class Requests:
    """The requests of one run. Without a ``provider`` nobody knows their form, and none is sent."""

    def __init__(self, provider: Provider | None) -> None:
        self.provider = provider
        self._window, self._spec = Window(), ""
        self._memo, self._digests = Memo(), ListDigest()
        self._key: object = None
        self._answer: tuple[PreparedRequest, str] | None = None
        self._tools_of: JsonObject | None = None
        self._tools: tuple[str, bytes] | None = None
        self.recorded: tuple[str, bytes] | None = None
        """The tools that a commit of this run has stored: later ones need not do so again."""

    def prepare(self, state: RunState, intent: Generate | Compact) -> tuple[PreparedRequest, str]:
        """Return the request that a pending intent sends, and its digest.

        Recorded first and sent after, the same request is prepared once.
        """
        key = (intent.n, state.turn, state.history_digest)
        if self._answer is None or key != self._key:
            self._key, self._answer = key, self._prepare(state, intent)
        return self._answer

    def tools(self, state: RunState, prepared: PreparedRequest) -> tuple[str, bytes] | None:
        """Return the blob of a request's tools, with its digest; None when it has no tools."""
        if self._tools_of is not prepared.fields:
            spec = state.run_spec
            self._tools_of = prepared.fields
            self._tools = _tools_in(prepared.fields, spec.wire or spec.provider)
        return self._tools

    def _prepare(self, state: RunState, intent: Generate | Compact) -> tuple[PreparedRequest, str]:
        if self.provider is None:
            raise InvariantError("The provider of the run is not known here.")
        provider = provider_of(self.provider, state.run_spec)
        try:
            request, messages, memo, digests = self._inputs(state, intent)
            prepared = provider.prepare(request, messages, memo)
            _check_form(provider, prepared)
            return prepared, digests.digest(prepared.fields, prepared.key, prepared.items)
        except CanonicalError as error:
            what = f"prepared a request that cannot be recorded. {error.message}"
            raise provider_error(provider, what) from error
        except ArtificerError:
            raise
        except (Exception, SystemExit, CancelledError) as error:
            what = f"failed to prepare a request: {described(error)}"
            raise provider_error(provider, what) from error

    def _inputs(
        self, state: RunState, intent: Generate | Compact
    ) -> tuple[ModelRequest, Sequence[Message], Memo, ListDigest]:
        """Return what a request is prepared from, with what is kept of the requests before it."""
        if type(intent) is Compact:  # its own conversation
            return *summary_request(state, intent), Memo(), ListDigest()
        if (state.window, state.spec_digest) != (self._window, self._spec):
            # What was sent so far is not the beginning of this, or went to another model.
            self._window, self._spec = state.window, state.spec_digest or ""
            self._memo, self._digests = Memo(), ListDigest()
        return state.request(), sent(state.history, state.window), self._memo, self._digests


def _check_form(provider: Provider, prepared: object) -> None:
    """Check what a provider prepared, which may be code of anybody. Raises AuthorError."""
    if not isinstance(prepared, PreparedRequest):
        what = f"prepared a {type(prepared).__name__}, not a PreparedRequest."
        raise provider_error(provider, what)
    for name, kind in (("fields", dict), ("key", str), ("items", list)):
        if not isinstance(found := getattr(prepared, name), kind):
            what = f"prepared a request whose {name} is a {type(found).__name__}, not a "
            raise provider_error(provider, what + f"{kind.__name__}.")
