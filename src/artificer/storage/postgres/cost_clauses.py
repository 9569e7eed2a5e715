"""The costs of an append, as clauses of its statement: the server makes the notes itself.

A note holds the total of its account, which only the server knows while it holds the lock of notes.
So the clauses read the total and what the newest note says, write the next note with its digest,
and count what refuses. They do not say why: `budget.changes` finds that out, and does what is too
unusual for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from psycopg.types.numeric import Int8

from artificer.ports import Reservation, Settlement, Spending
from artificer.storage.budget import LARGEST, bounded, reserved_note
from artificer.values.canon import canonical, digest_of

ACCOUNTS = 8
"""Most accounts of one append that clauses count: each is a row with values of its own."""

# A row of each account. With arrays the server would need a plan for any length, and take longer.
_ACCOUNT = "%(account_#)s::text, %(opening_#)b::bytea"
_COST = "%(settled_#)s::bigint, %(cost_tokens_#)s::bigint, %(cost_micros_#)s::bigint"
_NO_COST = "NULL::bigint, 0::bigint, 0::bigint"
_NEED = (
    "%(reserved_#)s::bigint, %(need_tokens_#)s::bigint, %(need_micros_#)s::bigint, "
    "%(most_tokens_#)s::bigint, %(most_micros_#)s::bigint, %(ends_#)s::bigint, "
    "%(note_hash_#)s::text, %(note_#)b::bytea"
)
_COLUMNS = "account, opening, settled, cost_tokens, cost_micros"
_NEEDED = "reserved, need_tokens, need_micros, most_tokens, most_micros, ends, note_hash, note"

# For each account its total after the append, and whether its row and its newest note agree before
# it. A correction is another kind of note: it does not agree.
_COUNTED = f"""counted AS (
  SELECT new.*,
    least(coalesce(total.tokens, 0) + cost_tokens, {LARGEST}) AS tokens,
    least(coalesce(total.micros, 0) + cost_micros, {LARGEST}) AS micros,
    CASE WHEN total.n IS NULL OR note.hash IS NULL THEN total.n IS NULL AND note.hash IS NULL
    ELSE note.hash = 'sha256:' || encode(sha256(note.body), 'hex')
      AND position(opening || (total.micros || ',"note":"budget_settled",')::bytea IN note.body) = 1
      AND right(encode(note.body, 'escape'), length(total.tokens::text) + 11)
        = ',"tokens":' || total.tokens || '}}'
    END AS agrees
  FROM new
  LEFT JOIN spending AS total ON total.account = new.account AND total.n = 0
  LEFT JOIN LATERAL (
    SELECT hash, body FROM notes WHERE subject = 'spent ' || new.account ORDER BY entry DESC LIMIT 1
  ) AS note ON true
)"""
_SETTLED = """freed AS (
  DELETE FROM spending AS line USING counted
  WHERE line.account = counted.account AND line.n = settled AND settled <> 0
), totals AS (
  INSERT INTO spending (account, n, tokens, micros)
  SELECT account, 0, tokens, micros FROM counted WHERE settled IS NOT NULL
  ON CONFLICT (account, n) DO UPDATE SET tokens = excluded.tokens, micros = excluded.micros
)"""
_SETTLED_NOTES = """
SELECT 'spent ' || account, 'sha256:' || encode(sha256(body), 'hex'), body FROM (
  SELECT account, opening || (micros || ',"note":"budget_settled","reservation":"' || settled
    || '","tokens":' || tokens || '}')::bytea AS body
  FROM counted WHERE settled IS NOT NULL
) AS made"""
_RESERVED = """too_much AS (
  SELECT account FROM counted CROSS JOIN LATERAL (
    SELECT coalesce(sum(line.tokens), 0) AS tokens, coalesce(sum(line.micros), 0) AS micros
    FROM spending AS line WHERE line.account = counted.account AND until > %(now)s::bigint
      AND line.n IS DISTINCT FROM settled
  ) AS others
  WHERE counted.tokens + others.tokens + need_tokens > most_tokens
    OR counted.micros + others.micros + need_micros > most_micros
), expired AS (
  DELETE FROM spending WHERE until <= %(now)s::bigint
), reservations AS (
  INSERT INTO spending (account, n, tokens, micros, until)
  SELECT account, reserved, need_tokens, need_micros, ends FROM counted WHERE reserved IS NOT NULL
)"""
_RESERVED_NOTES = """
SELECT 'reserved ' || account, note_hash, note FROM counted WHERE reserved IS NOT NULL"""
_DISAGREEING = "(SELECT count(*) FROM counted WHERE NOT agrees)"
_TOO_MUCH = "(SELECT count(*) FROM too_much)"

_NO_LIMIT = 2**63 - 1
_UNCHANGED = {"settled": None, "cost_tokens": Int8(0), "cost_micros": Int8(0)}
_NOT_WANTED = dict.fromkeys(_NEEDED.split(", "))


class CostShape(NamedTuple):
    """How many accounts costs have, and what is done to them: another shape, another statement."""

    accounts: int = 0
    settles: bool = False
    reserves: bool = False


def shape_of(spending: Spending) -> CostShape:
    """Return the shape of costs."""
    settled = {one.account for one in spending.settlements}
    reserved = {wanted.account for wanted in spending.reservations}
    return CostShape(len(settled | reserved), bool(settled), bool(reserved))


def is_usual(spending: Spending) -> bool:
    """Whether clauses can do it. They count one cost and one reservation of an account."""
    settled = {one.account for one in spending.settlements}
    reserved = {wanted.account for wanted in spending.reservations}
    return (
        len(settled) == len(spending.settlements)
        and len(reserved) == len(spending.reservations)
        and len(settled | reserved) <= ACCOUNTS
        and len({wanted.at for wanted in spending.reservations}) < 2
        and all(wanted.until > wanted.at for wanted in spending.reservations)
    )


def cost_clauses(shape: CostShape) -> tuple[list[str], list[str]]:
    """Return the clauses of usual costs, and the terms of the sum of what they refuse."""
    if not shape.accounts:
        return [], []
    row = ", ".join((_ACCOUNT, _COST if shape.settles else _NO_COST, *[_NEED] * shape.reserves))
    columns = ", ".join((_COLUMNS, *[_NEEDED] * shape.reserves))
    rows = ", ".join(f"({row.replace('#', str(n))})" for n in range(shape.accounts))
    clauses = [f"new ({columns}) AS (VALUES {rows})", _COUNTED]
    notes, refusals = [], [_DISAGREEING]
    if shape.settles:
        clauses.append(_SETTLED)
        notes.append(_SETTLED_NOTES)
    if shape.reserves:
        clauses.append(_RESERVED)
        notes.append(_RESERVED_NOTES)
        refusals.append(_TOO_MUCH)
    clauses.append(
        f"noted AS (INSERT INTO notes (subject, hash, body) {' UNION ALL '.join(notes)})"
    )
    return clauses, refusals


def cost_values(spending: Spending) -> dict[str, Any]:
    """Return the values of the clauses."""
    settled = {one.account: one for one in spending.settlements}
    reserved = {wanted.account: wanted for wanted in spending.reservations}
    values: dict[str, Any] = {}
    for n, account in enumerate({**settled, **reserved}):
        row: dict[str, Any] = {
            "account": account,
            "opening": b'{"account":' + canonical(account) + b',"micros":',
        }
        if settled:
            row |= _settling(settled[account]) if account in settled else _UNCHANGED
        if reserved:
            row |= _reserving(reserved[account]) if account in reserved else _NOT_WANTED
        values |= {f"{name}_{n}": value for name, value in row.items()}
    if reserved:
        values["now"] = Int8(spending.reservations[0].at)
    return values


# Each type would be its own statement, so all numbers are bigint, however small.


def _settling(settlement: Settlement) -> dict[str, Any]:
    cost = bounded(settlement.cost)
    return {
        "settled": Int8(settlement.number),
        "cost_tokens": Int8(cost.tokens),
        "cost_micros": Int8(cost.micros),
    }


def _reserving(wanted: Reservation) -> dict[str, Any]:
    need = bounded(wanted.need)
    note = reserved_note(wanted, need).canonical()
    return {
        "reserved": Int8(wanted.number),
        "need_tokens": Int8(need.tokens),
        "need_micros": Int8(need.micros),
        "most_tokens": Int8(_limit(wanted.limit.tokens)),
        "most_micros": Int8(_limit(wanted.limit.micros)),
        "ends": Int8(wanted.until),
        "note_hash": digest_of(note),
        "note": note,
    }


def _limit(limit: int | None) -> int:
    return _NO_LIMIT if limit is None else min(limit, _NO_LIMIT)
