"""The JSON that workers send and receive.

``of`` names the run that is meant: that of the job, or one that it has started.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from artificer.ports import Amount, Head
from artificer.studio.api.acting import BASE64, MAX_BASE64
from artificer.studio.api.declared import DigestText, ShortName
from artificer.studio.api.jobs import MAX_WAIT, HeldBody, RequestName, WholeNumber
from artificer.studio.jobs.permits import MAX_PERMITS

MAX_RECORDS = 1_000
"""Records of one append, or of one answer."""

MAX_RECORD = 16_000_000
"""Characters of a record."""

PAGE_BYTES = 8_000_000
"""Bytes of records after which an answer ends."""

Ticket = Annotated[int, Meta(ge=0, le=2**62)]

RunName = Annotated[str, Meta(min_length=1, max_length=200)]

HashText = Annotated[str, Meta(pattern="^(sha256:[0-9a-f]{64})?$", max_length=71)]

Base64Text = Annotated[str, Meta(pattern=BASE64, max_length=MAX_BASE64)]


PermitName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$", max_length=64)]

LimitNames = Annotated[tuple[Annotated[str, Meta(max_length=350)], ...], Meta(max_length=10)]

PermitSeconds = Annotated[float, Meta(gt=0, le=3_600)]


class PlaceBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a run ends: the number and the hash of its last record."""

    seq: WholeNumber = 0
    hash: HashText = ""


class RecordBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A record: its place, its hash, and its canonical JSON as a text."""

    seq: WholeNumber
    hash: DigestText
    body: Annotated[str, Meta(max_length=MAX_RECORD)]


class AmountBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens and micro-dollars."""

    tokens: WholeNumber = 0
    micros: WholeNumber = 0


class LimitBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The limit of an account as the worker knows it; this world's own limit applies too."""

    tokens: WholeNumber | None = None
    micros: WholeNumber | None = None


class SettlementBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The cost of a request."""

    account: RunName
    number: Ticket
    cost: AmountBody


class ReservationBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The cost that a request may have, until a time."""

    account: RunName
    number: Ticket
    need: AmountBody
    limit: LimitBody
    at: WholeNumber
    until: WholeNumber


class SpendingBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Changes of budgets: settlements come first."""

    settlements: Annotated[tuple[SettlementBody, ...], Meta(max_length=100)] = ()
    reservations: Annotated[tuple[ReservationBody, ...], Meta(max_length=100)] = ()


class AcquireBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """A run of the job, and where its records must end; any place if that is absent."""

    of: RunName
    head: PlaceBody | None = None


class GiveUpBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """A run of the job that the worker has acquired at an epoch."""

    of: RunName
    epoch: WholeNumber


class AppendBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """Records that follow ``head``, blobs that they name, and changes of budgets: one commit.

    ``repeated`` is set for an append whose answer was lost.
    """

    of: RunName
    epoch: WholeNumber
    head: PlaceBody
    records: Annotated[tuple[RecordBody, ...], Meta(max_length=MAX_RECORDS)]
    blobs: Annotated[tuple[Base64Text, ...], Meta(max_length=MAX_RECORDS)] = ()
    spending: SpendingBody = SpendingBody()
    repeated: bool = False


class BlobBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """Bytes in Base64."""

    data: Base64Text


class SignalBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """A signal to a run of the job, in Base64. ``request`` names the request."""

    of: RunName
    body: Annotated[str, Meta(pattern=BASE64, max_length=1_400_000)]
    request: RequestName = ""


class SpendBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """Changes of budgets without records. ``request`` names the request."""

    spending: SpendingBody
    request: RequestName = ""


class VersionBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """The next version of a workspace; with ``of``, of that run's draft."""

    name: RunName
    number: WholeNumber
    digest: DigestText
    of: ShortName = ""


class PermitBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """A permit under the limits of these names, for a request to a model.

    It lasts for ``seconds`` unless it is renewed, but at least as long as the lease. ``request``
    names the request.
    """

    permit: PermitName
    limits: LimitNames
    seconds: PermitSeconds
    request: RequestName = ""


class HeldPermit(Struct, frozen=True, forbid_unknown_fields=True):
    """A permit that was taken, and the names of its limits."""

    permit: PermitName
    limits: LimitNames


HeldPermits = Annotated[tuple[HeldPermit, ...], Meta(max_length=MAX_PERMITS)]


class RenewBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """Permits of a job to extend for ``seconds``."""

    permits: HeldPermits
    seconds: PermitSeconds


class GiveBackBody(HeldBody, frozen=True, forbid_unknown_fields=True):
    """Permits of a job whose requests have ended; the lease may have ended since."""

    permits: HeldPermits


class HeldQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A lease: its attempt and its fencing token."""

    attempt: WholeNumber
    fence: WholeNumber


class RecordsQuery(HeldQuery, frozen=True, forbid_unknown_fields=True):
    """Records of a run after a number."""

    of: RunName
    after: WholeNumber = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_RECORDS)] = MAX_RECORDS


class SignalsQuery(HeldQuery, frozen=True, forbid_unknown_fields=True):
    """Signals to a run after a number."""

    of: RunName
    after: WholeNumber = 0


class AccountQuery(HeldQuery, frozen=True, forbid_unknown_fields=True):
    """An account, at a time in milliseconds."""

    account: RunName
    now: WholeNumber


class VersionQuery(HeldQuery, frozen=True, forbid_unknown_fields=True):
    """A version of a workspace, its newest without a number; with ``of``, of a run's draft."""

    name: RunName
    number: WholeNumber | None = None
    of: ShortName = ""


class WorkspacesQuery(HeldQuery, frozen=True, forbid_unknown_fields=True):
    """The workspaces that the job may see; with ``of``, those that a run has drafts of."""

    of: ShortName = ""


class SinceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Signals after a position; without one, only the position is answered."""

    position: WholeNumber | None = None
    wait: Annotated[int, Meta(ge=0, le=MAX_WAIT)] = 0


class AcquiredAnswer(Struct, frozen=True):
    """The epoch for appending to a run, where the run ends, and who may still act."""

    epoch: int
    head: Head
    former: str


class HeadAnswer(Struct, frozen=True):
    """Where a run ends now."""

    head: Head


class RecordAnswers(Struct, frozen=True):
    """Records in order; ``more`` is set if others follow."""

    records: tuple[RecordBody, ...]
    more: bool


class BlobAnswer(Struct, frozen=True):
    """The digest of what was stored."""

    digest: str


class SignalAnswer(Struct, frozen=True):
    """A signal: its number, and its bytes in Base64."""

    n: int
    body: str


class SignalAnswers(Struct, frozen=True):
    """Signals in order; ``more`` is set if others follow."""

    signals: tuple[SignalAnswer, ...]
    more: bool


class PostedAnswer(Struct, frozen=True):
    """The number of a signal."""

    n: int


class SinceAnswer(Struct, frozen=True):
    """The current position, and the runs that got signals."""

    position: int
    runs: tuple[str, ...]


class SpentAnswer(Struct, frozen=True):
    """The amounts spent and reserved in an account."""

    settled: Amount
    reserved: Amount


class VersionAnswer(Struct, frozen=True):
    """A version, or null if it does not exist."""

    number: int | None
    digest: str | None


class AddedAnswer(Struct, frozen=True):
    """Whether a version was added: its number was the next."""

    added: bool


class WorkspaceNames(Struct, frozen=True):
    """The names of workspaces, in order."""

    names: tuple[str, ...]


class PermitAnswer(Struct, frozen=True):
    """The limit that is ``reached``, or null if the permit was taken.

    ``seconds`` is the time until a permit is free, or 0 if that is unknown.
    """

    reached: str | None
    seconds: float


class LimitStanding(Struct, frozen=True):
    """At most ``count`` permits, at once or within ``period_s``, and how many are ``held`` now."""

    name: str
    count: int
    period_s: float | None
    held: int


class LimitStandings(Struct, frozen=True):
    """The limits of requests to models."""

    limits: tuple[LimitStanding, ...]


class NothingAnswer(Struct, frozen=True):
    """An empty answer: it was done."""
