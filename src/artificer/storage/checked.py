"""A storage that another package or a program made: what its parts return is checked before use.

A part of ours stays as it is. Any other one is replaced by an object with the same members: what a
method returns must be of the type, and about the run, that its port says; after an append the
journal must return the last record, and a blob that was put must be there. So a storage that loses
what it was given is noticed before an effect that depends on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final, TypeGuard

from msgspec import Struct

from artificer.errors import ArtificerError
from artificer.ports import (
    NO_SPENDING,
    UNCLAIMED,
    Amount,
    Claim,
    Head,
    Lease,
    Record,
    RunHead,
    Spending,
    Spent,
    Storage,
)
from artificer.system.tasks import cancelling
from artificer.values.canon import digest_of

ErrorOf = Callable[[str], ArtificerError]
"""Makes the error for a storage that breaks its protocol, from what it did."""

OURS: Final = "artificer."
"""How the names of our own modules begin."""


class _Rule(Struct, frozen=True):
    """The return value of a method: ``is_right`` gets that, and what the method got."""

    called: str
    is_right: Callable[..., bool]
    is_async: bool = True


def checked(storage: Storage, fault: ErrorOf) -> Storage:
    """Return the storage with checked parts; itself if all its parts are ours."""
    parts: dict[str, object] = {}
    for name, rules in _RULES.items():
        part = getattr(storage, name)
        if not type(part).__module__.startswith(OURS):
            parts[name] = _checked_part(part, name, rules, fault)
    return _with_members(storage, parts) if parts else storage


def _checked_part(part: object, name: str, rules: Mapping[str, _Rule], fault: ErrorOf) -> object:
    methods: dict[str, object] = {
        method: _checked_method(getattr(part, method), f"{name}.{method}", rule, fault)
        for method, rule in rules.items()
        if hasattr(part, method)
    }
    found = _with_members(part, methods)
    if name == "journal":
        return _with_members(found, {"append": _read_back(found, fault)})
    if name == "blobs":
        return _with_members(found, {"put": _looked_up(found, fault)})
    return found


def _with_members(part: Any, members: Mapping[str, object]) -> Any:
    """Return an object with these members, and all others of ``part``.

    Its class has them: what a storage can do besides is found by its members (`isinstance`).
    """
    names = {name for name in dir(part) if not name.startswith("_")} | {*members}
    return type(
        type(part).__name__,
        (),
        {
            **{name: _member(part, name, members) for name in names},
            "__getattr__": lambda _, name: getattr(part, name),
        },
    )()


def _member(part: object, name: str, members: Mapping[str, object]) -> property:
    if name in members:
        return property(lambda _: members[name])
    return property(lambda _: getattr(part, name))


def _checked_method(
    method: Callable[..., Any], name: str, rule: _Rule, fault: ErrorOf
) -> Callable[..., Any]:
    def right(found: object, args: Sequence[Any], options: Mapping[str, Any]) -> object:
        if not rule.is_right(found, *args, **options):
            raise fault(f"returned {found!r:.80} from {name}, not {rule.called}.")
        return found

    async def checked_later(*args: Any, **options: Any) -> object:
        try:
            work: object = method(*args, **options)
            if not isinstance(work, Awaitable):
                raise fault(f"has a method {name} that is not async.")
            return right(await work, args, options)
        except (SystemExit, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and cancelling():
                raise
            raise fault(f"raised {type(error).__name__} in {name}.") from error

    def checked_now(*args: Any, **options: Any) -> object:
        try:
            return right(method(*args, **options), args, options)
        except (SystemExit, asyncio.CancelledError) as error:
            raise fault(f"raised {type(error).__name__} in {name}.") from error

    return checked_later if rule.is_async else checked_now


def _read_back(journal: Any, fault: ErrorOf) -> Callable[..., Any]:
    """Return an ``append`` after which the journal must return the last record."""

    async def append(
        run: str, epoch: int, head: Head, records: Sequence[Record], *more: Any, **named: Any
    ) -> Head:
        new: Head = await journal.append(run, epoch, head, records, *more, **named)
        if records:
            found = await journal.read(run, new.seq - 1, 1)
            if not found or found[0].hash != new.hash or digest_of(found[0].body) != new.hash:
                raise fault(f"appended record {new.seq} of run {run}, and does not return it.")
        return new

    return append


def _looked_up(blobs: Any, fault: ErrorOf) -> Callable[..., Any]:
    """Return a ``put`` after which the store must have the blob."""

    def put(data: bytes) -> str:
        digest: str = blobs.put(data)
        if not blobs.has(digest):
            raise fault(f"stored the blob {digest}, and does not have it.")
        return digest

    return put


def _is_int(found: object, least: int = 0) -> bool:
    return type(found) is int and found >= least


def _is_head(found: object) -> bool:
    return isinstance(found, Head) and _is_int(found.seq) and isinstance(found.hash, str)


def _is_lease(found: object, run: str, claim: Claim = UNCLAIMED) -> bool:
    return (
        isinstance(found, Lease)
        and _is_int(found.epoch, 1)
        and _is_head(found.head)
        and claim.head in (None, found.head)
    )


def _is_new_head(
    found: object,
    run: str,
    epoch: int,
    head: Head,
    records: Sequence[Record],
    blobs: Sequence[bytes] = (),
    spending: Spending = NO_SPENDING,
) -> bool:
    last = Head(seq=records[-1].seq, hash=records[-1].hash) if records else head
    return _is_head(found) and found == last


def _are_records(found: object, run: str, after: int = 0, limit: int | None = None) -> bool:
    return _is_page(found, limit) and all(_is_record(each, run, after) for each in found)


def _is_page(found: object, limit: int | None) -> TypeGuard[Sequence[Any]]:
    return isinstance(found, Sequence) and (limit is None or len(found) <= limit)


def _is_record(found: object, run: str, after: int) -> bool:
    return (
        isinstance(found, Record)
        and found.run == run
        and _is_int(found.seq, after + 1)
        and isinstance(found.hash, str)
        and isinstance(found.body, bytes)
    )


def _are_run_heads(found: object, before: str | None = None, limit: int | None = None) -> bool:
    return (
        _is_page(found, limit)
        and all(
            isinstance(row, RunHead)
            and isinstance(row.run, str)
            and row.run != before
            and _is_int(row.epoch)
            and _is_head(row.head)
            for row in found
        )
        and len({row.run for row in found}) == len(found)
    )


def _is_blob(found: object, digest: str) -> bool:
    return isinstance(found, bytes) and digest_of(found) == digest


def _is_digest_of(found: object, data: bytes) -> bool:
    return found == digest_of(data)


def _is_bool(found: object, *_: object, **__: object) -> bool:
    return isinstance(found, bool)


def _is_signal_number(found: object, run: str, body: bytes) -> bool:
    return _is_int(found, 1)


def _are_signals(found: object, run: str, after: int = 0) -> bool:
    def is_signal(each: object) -> bool:
        match each:
            case (n, bytes()):
                return _is_int(n, after + 1)
        return False

    return isinstance(found, Sequence) and all(map(is_signal, found))


def _is_position(found: object, position: int | None) -> bool:
    match found:
        case (now, Set() as runs):
            return _is_int(now) and _are_texts([*runs])
    return False


def _is_amount(found: object, *_: object, **__: object) -> bool:
    return isinstance(found, Amount) and _is_int(found.tokens) and _is_int(found.micros)


def _is_spent(found: object, account: str, now: int) -> bool:
    return isinstance(found, Spent) and _is_amount(found.settled) and _is_amount(found.reserved)


def _is_version(found: object, name: str, run: str = "") -> bool:
    match found:
        case None:
            return True
        case (number, str()):
            return _is_int(number, 1)
    return False


def _is_text_or_none(found: object, *_: object, **__: object) -> bool:
    return found is None or isinstance(found, str)


def _is_iterable(found: object) -> bool:
    return isinstance(found, Iterable)


def _are_texts(found: object, *_: object, **__: object) -> bool:
    return isinstance(found, Iterable) and all(isinstance(each, str) for each in found)


def _are_names(found: object, run: str = "") -> bool:
    return isinstance(found, Sequence) and _are_texts(found)


def _anything(*_: object, **__: object) -> bool:
    return True


_RULES: Final[Mapping[str, Mapping[str, _Rule]]] = {
    "journal": {
        "acquire": _Rule("a Lease at the head of the claim", _is_lease),
        "append": _Rule("the head after these records", _is_new_head),
        "read": _Rule("a list of records of this run, or a page of them", _are_records),
        "records": _Rule("a list of records of this run", _are_records, is_async=False),
        "release": _Rule("nothing", _anything),
        "runs": _Rule("a list of RunHeads, one for each run, or a page of them", _are_run_heads),
    },
    "blobs": {
        "digests": _Rule("digests", _is_iterable, is_async=False),
        "get": _Rule("the bytes of this digest", _is_blob, is_async=False),
        "has": _Rule("a bool", _is_bool, is_async=False),
        "put": _Rule("the digest of these bytes", _is_digest_of, is_async=False),
    },
    "signals": {
        "post": _Rule("the number of the signal", _is_signal_number),
        "read": _Rule("a list of numbers and bodies", _are_signals),
        "since": _Rule("a position and a set of runs", _is_position),
    },
    "budget": {
        "correct": _Rule("an Amount", _is_amount),
        "reserve": _Rule("nothing", _anything),
        "settle": _Rule("nothing", _anything),
        "spent": _Rule("a Spent", _is_spent),
    },
    "versions": {
        "add": _Rule("a bool", _is_bool, is_async=False),
        "get": _Rule("a digest or None", _is_text_or_none, is_async=False),
        "head": _Rule("a number and a digest, or None", _is_version, is_async=False),
        "names": _Rule("a list of names", _are_names, is_async=False),
    },
}
"""The methods of each part that are checked. Snapshots are caches, and checked where used."""
