"""Probes of manifests: performed like their own tool, and what their receipt then says."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from artificer.contracts.evidence import fitted
from artificer.manifests.keys import EvidenceKeys, OutputKeys
from artificer.manifests.model import Manifest, Probe
from artificer.ports import Call, Probed, Receipt

P = TypeVar("P")

_FOUND = "It had happened before the runtime stopped, and was not repeated. A probe says so."


def as_tool(manifest: Manifest[P], part: P) -> Manifest[P]:
    """Return a manifest's probe as its own tool, which changes nothing and writes nowhere.

    ``part`` is the probe in the form of its backend.
    """
    tool = manifest.tool
    assert tool.probe is not None
    asking = tool.replace(
        effect="pure",
        timeout_seconds=tool.probe.timeout_seconds or tool.timeout_seconds,
        sandbox=tool.sandbox.replace(writable=()),
        evidence=EvidenceKeys(),
    )
    return replace(manifest, tool=asking, part=part, output=OutputKeys(), probe=None)


def call_of(manifest: Manifest[Any], call: Call) -> Call:
    """The call of a probe: that of the tool, in the probe's own time."""
    definition = call.definition.replace(timeout_ms=manifest.definition.timeout_ms, effect="pure")
    return structs.replace(call, definition=definition)


def probed_of(probe: Probe, receipt: Receipt, code: str, output: str) -> Probed:
    """Read the receipt: ``code`` and ``output`` name members of its evidence."""
    evidence = json.loads(receipt.evidence or "{}")
    number = evidence.get(code)
    found = probe.found(number)
    if found == "unknown":
        why = evidence.get("fault") or "the probe was refused"
        outcome = f"answered {number}" if number is not None else f"could not tell: {why}"
        return Probed(found=found, reason=f"The probe {outcome}.")
    content = ""
    if found == "happened":
        facts = {"status": "success", "notes": [_FOUND]}
        content = fitted(facts, output, str(evidence[output]["text"]))
    return Probed(found=found, content=content, reason=f"The probe answered {number}.")
