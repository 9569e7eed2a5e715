"""The decisions and effects that an event or intent records, without words of models and tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from artificer.core import events as ev
from artificer.core.events import Event
from artificer.core.gate import call_digest
from artificer.core.intents import AdvanceBuild, AskApproval, CallTool, Intent
from artificer.values.base import JsonObject, Value

PEOPLE = ("by", "reason")

_NAMED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ToolReturned": ("returned", ("status", "duration_ms", "data", "whole")),
    "CallProbed": ("probed", ("found", "reason")),
    "DoubtResolved": ("resolved", ("call_id", "happened", *PEOPLE)),
    "CancelRequested": ("cancel", PEOPLE),
    "InterruptRequested": ("interrupt", PEOPLE),
    "PauseRequested": ("pause", PEOPLE),
    "Steered": ("steer", ("by",)),
    "FollowUpReceived": ("follow-up", ("by",)),
    "ChecklistTicked": ("tick", ("checklist", "version", "item", "checked", "by")),
    "RunResumed": ("resumed", ("epoch", "unreleased")),
    "RunPruned": ("pruned", ("records", *PEOPLE)),
    "RunFinished": ("finished", ("status", "deliverable")),
}
"""How the events and intents are called whose members say it all, and which of these are shown."""

_OF_FACTS = (
    *("key", "decision", "digest", "granted", "happened", "outcome", "cause", "passed"),
    *("commit", "integration", "spec", "standing", "reason", "feedback", "hint", "by"),
)
"""The members that are shown of the facts of a build."""


def _started(event: ev.PromptReceived) -> list[JsonObject]:
    spec = event.spec
    shown: JsonObject = {"kind": spec.kind, "model": spec.full_name, "release": event.release}
    shown |= {"parent": spec.parent, "history_from": spec.history_from}
    if spec.submission is not None:
        shown["submission"] = spec.submission.to_json()
    return [{"what": "started", **shown}]


def _judged(event: ev.CallsJudged) -> list[JsonObject]:
    return [
        {
            "what": "judged",
            "tool": verdict.tool,
            "call_id": verdict.call_id,
            "call": verdict.digest,
            "verdict": verdict.verdict,
            "rule": verdict.rule,
            "reason": verdict.reason,
        }
        for verdict in event.verdicts
    ]


def _answered(event: ev.ApprovalAnswered) -> list[JsonObject]:
    what = "approved" if event.approved else "denied"
    return [{"what": what, **_members(event, PEOPLE)}]


def call_of(intent: CallTool | AskApproval) -> JsonObject:
    """Return which call an intent is about; the digest binds its tool and its arguments."""
    digest = call_digest(intent.tool, intent.arguments)
    return {"tool": intent.tool, "call_id": intent.call_id, "call": digest}


def _question(intent: AskApproval) -> list[JsonObject]:
    return [{"what": "asked", **call_of(intent), "reason": intent.reason}]


def _began(intent: CallTool) -> list[JsonObject]:
    return [{"what": "began", **call_of(intent), "effect": intent.effect}]


def _late(event: ev.ReceiptIgnored) -> list[JsonObject]:
    return [{"what": "late", "of": event.what, **_members(event, ("status", "reason"))}]


def _forked(event: ev.RunForked) -> list[JsonObject]:
    return [{"what": "forked", "origin": event.origin.to_json()}]


def _of_build(event: ev.BuildAdvanced) -> list[JsonObject]:
    return [{"what": "build", "fact": event.fact.type, **_members(event.fact, _OF_FACTS)}]


def _job(intent: AdvanceBuild) -> list[JsonObject]:
    return [{"what": "job", "job": intent.wish.type, "key": intent.call_id}]


_MADE: Mapping[str, Callable[[Any], list[JsonObject]]] = {
    "PromptReceived": _started,
    "CallsJudged": _judged,
    "ApprovalAnswered": _answered,
    "AskApproval": _question,
    "CallTool": _began,
    "ReceiptIgnored": _late,
    "RunForked": _forked,
    "BuildAdvanced": _of_build,
    "AdvanceBuild": _job,
}

NAMES = frozenset([*_NAMED, *_MADE])
"""The events and intents that are a decision or an effect."""

CALLS = frozenset(
    [
        *("AskApproval", "CallTool"),
        *("ApprovalAnswered", "ToolReturned", "CallProbed", "ReceiptIgnored"),
    ]
)
"""Those that are about a call: the intents that name it, and the events that only number it."""


def decided_by(recorded: Event | Intent) -> list[JsonObject]:
    """Return the decisions and effects that an event or intent records; most record none."""
    made = _MADE.get(recorded.type)
    if made is not None:
        return made(recorded)
    if recorded.type not in _NAMED:
        return []
    what, members = _NAMED[recorded.type]
    return [{"what": what, **_members(recorded, members)}]


def _members(recorded: Value, names: tuple[str, ...]) -> JsonObject:
    """Return those of the members that it has and that say something."""
    members = recorded.to_json()
    return {name: members[name] for name in names if members.get(name) not in (None, "")}
