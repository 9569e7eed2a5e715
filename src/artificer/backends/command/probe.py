"""Probes of manifests: performed like a tool of their own, and what their receipt then says."""

from __future__ import annotations

import json
from dataclasses import replace

from artificer.contracts.evidence import fitted
from artificer.contracts.keys.manifest import EvidenceKeys, OutputKeys
from artificer.contracts.manifest.model import Manifest
from artificer.contracts.manifest.probe import Probe
from artificer.ports import Call, Probed, Receipt

_FOUND = "It had happened before the runtime stopped, and was not repeated. A probe says so."


def as_tool(manifest: Manifest, probe: Probe) -> Manifest:
    """A probe as a tool of its own: it changes nothing, and may write nowhere."""
    tool, keys = manifest.tool, probe.keys
    asking = tool.model_copy(
        update={
            "effect": "pure",
            "timeout_seconds": keys.timeout_seconds or tool.timeout_seconds,
            "sandbox": tool.sandbox.model_copy(update={"writable": ()}),
            "evidence": EvidenceKeys(),
        }
    )
    return replace(
        manifest,
        tool=asking,
        groups=probe.groups,
        http=probe.http,
        executor=None,
        output=OutputKeys(),
        success_exit=(*keys.happened_exit, *keys.absent_exit),
        probe=None,
    )


def call_of(manifest: Manifest, call: Call) -> Call:
    """The call of a probe: that of the tool, in the probe's own time."""
    definition = call.definition.model_copy(
        update={"timeout_ms": manifest.definition.timeout_ms, "effect": "pure"}
    )
    return replace(call, definition=definition)


def probed_of(probe: Probe, receipt: Receipt, code: str, output: str) -> Probed:
    """Read the receipt: ``code`` and ``output`` name members of its evidence."""
    told = json.loads(receipt.evidence or "{}")
    number = told.get(code)
    found = probe.found(number)
    if found == "unknown":
        why = told.get("fault") or "the probe was refused"
        said = f"answered {number}" if number is not None else f"could not tell: {why}"
        return Probed(found=found, reason=f"The probe {said}.")
    content = ""
    if found == "happened":
        facts = {"status": "success", "notes": [_FOUND]}
        content = fitted(facts, output, str(told[output]["text"]))
    return Probed(found=found, content=content, reason=f"The probe answered {number}.")
