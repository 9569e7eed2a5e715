"""Every error of Artificer, in one tree.

    ArtificerError
    ├── AuthorError            the author of a tool, a manifest or a program acts next
    │   ├── ManifestError          a *.clad.toml file cannot be used
    │   ├── ToolDefinitionError    a tool's name, schema or signature cannot be used
    │   ├── InvalidValueError      a member of a value has the wrong type or is out of range
    │   └── CanonicalError         a value has no canonical JSON (NaN, huge integer, lone surrogate)
    ├── OperatorError          the person who runs the program acts next
    │   ├── ConfigError            a setting, flag or file is wrong
    │   ├── MissingExtraError      an optional dependency is not installed
    │   ├── NotFoundError          no such run, blob, model or file
    │   ├── GitError               git failed at something a build needs
    │   ├── BudgetError            a budget is too small for a reservation
    │   ├── Fenced                 another process took over this run
    │   ├── ExistsError            a run with that id already exists
    │   ├── OwnedError             a living process owns this run
    │   ├── ConflictError          someone else has changed this meanwhile; nothing was written
    │   ├── TamperedError          stored bytes are not what was written
    │   ├── MovedError             the world was moved, or its server has lost records
    │   ├── UnstoredError          a call's result cannot be stored; the call may have happened
    │   └── AccessError            the sender of a request is not authenticated
    │       ├── ForbiddenError         the sender may not do this
    │       └── RateLimitError         the sender has sent too many requests
    ├── ModelError             the model's answer is unusable, and no turn is left to correct it
    ├── CallError              a guarded call has no result: the program that made it acts next
    │   ├── InvalidCallError       the tool does not exist, or its arguments are not valid
    │   ├── DeniedCallError        the policy or a person does not allow the call
    │   ├── FailedCallError        the tool failed or timed out, or the run was cancelled
    │   ├── WaitingCallError       a person has to answer before the call may run
    │   └── AmbiguousCallError     the call may have happened before a crash, and is not repeated
    └── BugError               a bug in Artificer: please report it
        ├── TransitionError        an event arrived in a phase that has no rule for it
        └── InvariantError         something that must always hold did not

A model's mistake is normally not an exception: it goes back to the model as a tool result. Denials,
limits and endings are events, never exceptions.

Every error has a ``code`` that scripts may rely on, a ``turn`` that names who acts next, and
perhaps a ``hint``: one sentence that says what to do.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Turn = Literal["author", "operator", "model", "us"]


class ArtificerError(Exception):
    """Base of all errors. ``str(error)`` is one sentence; ``hint`` says what to do about it.

    A traceback ends with the hint.
    """

    code: ClassVar[str] = "error"
    turn: ClassVar[Turn] = "us"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def hint(self) -> str | None:
        """A sentence that says what to do about it."""
        return self._hint

    @hint.setter
    def hint(self, hint: str | None) -> None:
        former: str | None = getattr(self, "_hint", None)
        others = [note for note in getattr(self, "__notes__", ()) if note != former]
        self.__notes__ = [hint, *others] if hint else others
        self._hint = hint


class AuthorError(ArtificerError):
    """The author of a tool, a manifest or a program acts next."""

    code = "author"
    turn = "author"


class ManifestError(AuthorError):
    """A ``*.clad.toml`` file cannot be used; the message names file, key and line."""

    code = "manifest"


class ToolDefinitionError(AuthorError):
    """A tool's name, schema or signature cannot be used."""

    code = "tool_definition"


class InvalidValueError(AuthorError, ValueError):
    """A member of a value has the wrong type or is out of range; ``pointer`` says which one."""

    code = "invalid_value"

    def __init__(self, subject: str, pointer: str, reason: str) -> None:
        super().__init__(f"{subject}: {pointer} {reason}." if pointer else f"{subject} {reason}.")
        self.pointer = pointer
        self.reason = reason


class CanonicalError(AuthorError):
    """A value has no canonical JSON (RFC 8785): NaN, an integer beyond 2**53, a lone surrogate."""

    code = "canonical"


class OperatorError(ArtificerError):
    """The person who runs the program acts next."""

    code = "operator"
    turn = "operator"


class ConfigError(OperatorError):
    """A setting, a flag or a file is wrong."""

    code = "config"


class MissingExtraError(OperatorError):
    """An optional dependency is not installed."""

    code = "missing_extra"

    def __init__(self, extra: str, *, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} needs the extra {extra!r}, which is not installed.",
            hint=f"pip install 'artificer[{extra}]'",
        )
        self.extra = extra


class NotFoundError(OperatorError):
    """No such run, blob, model or file."""

    code = "not_found"


class GitError(OperatorError):
    """git failed at something a build needs."""

    code = "git"


class BudgetError(OperatorError):
    """A budget is too small for a reservation; nothing was reserved."""

    code = "budget"


class Fenced(OperatorError):
    """Another process took over this run or appended to it; this process may write nothing."""

    code = "fenced"


class ExistsError(OperatorError):
    """A run with that id already exists; nothing was written."""

    code = "exists"


class OwnedError(OperatorError):
    """A living process owns this run; only an explicit flag takes it over."""

    code = "owned"


class ConflictError(OperatorError):
    """Someone else has changed this meanwhile; nothing was written."""

    code = "conflict"


_RESTORE = "Restore it from a backup; `artificer verify` shows what else is damaged."


class TamperedError(OperatorError):
    """Stored bytes are not what was written (invariant 12)."""

    code = "tampered"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint or _RESTORE)


class MovedError(OperatorError):
    """The world was moved, restored or copied, or its server has lost records."""

    code = "moved"


class UnstoredError(OperatorError):
    """The result of a call cannot be stored. The call may have happened, and stays open."""

    code = "unstored"


class AccessError(OperatorError):
    """The sender of a request to the studio is not authenticated."""

    code = "access"


class ForbiddenError(AccessError):
    """The sender is authenticated, but may not do this."""

    code = "forbidden"


class RateLimitError(AccessError):
    """The sender has sent too many requests; ``seconds`` is how long to wait."""

    code = "rate_limit"

    def __init__(self, message: str, *, seconds: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint or f"Wait {seconds} s.")
        self.seconds = seconds


class ModelError(ArtificerError):
    """The model's answer cannot be used, and no turn is left to correct it."""

    code = "model"
    turn = "model"


class CallError(ArtificerError):
    """A guarded call has no result.

    ``status`` is how the call ended, ``content`` the recorded text that a model may read, and
    ``problems`` are the faults of its arguments as pairs of a JSON pointer and a message.
    """

    code = "call"
    turn: ClassVar[Turn] = "author"

    def __init__(
        self,
        message: str,
        *,
        status: str,
        content: str,
        problems: tuple[tuple[str, str], ...] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.content = content
        self.problems = problems


class InvalidCallError(CallError):
    """The tool does not exist, or its arguments are not valid; nothing ran."""

    code = "call_invalid"


class DeniedCallError(CallError):
    """The policy or a person does not allow the call; nothing ran."""

    code = "call_denied"


class FailedCallError(CallError):
    """The tool failed or timed out, or the run was cancelled."""

    code = "call_failed"


class WaitingCallError(CallError):
    """A person has to answer before the call may run. Make the call again after that."""

    code = "call_waiting"
    turn = "operator"


class AmbiguousCallError(CallError):
    """The call may have happened before a crash. It is not repeated until a person resolves it."""

    code = "call_ambiguous"
    turn = "operator"


class BugError(ArtificerError):
    """A bug in Artificer."""

    code = "bug"


class TransitionError(BugError):
    """An event arrived in a phase that has no rule for it."""

    code = "transition"


class InvariantError(BugError):
    """Something that must always hold did not hold."""

    code = "invariant"


def message_of(error: BaseException) -> str:
    """Return an error's text. A class of somebody else's may fail to have one."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - its ``__str__`` may raise anything
        return "(no text)"


def places(error: BaseException) -> str:
    """Return an error's type and its stack locations, without its message.

    The message may contain model or tool output, and logs never do.
    """
    import traceback  # rarely needed

    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"Traceback (most recent call last):\n{frames}{type(error).__name__}"
