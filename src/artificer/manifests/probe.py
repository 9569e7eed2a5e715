"""``[tool.probe]``: finding out whether a call happened, by the tool's own kind of access."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from artificer.contracts.arguments.check import Fault
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.model import Probe
from artificer.manifests.registry import Sections
from artificer.manifests.section_reads import checked_faults

SECTION = ("tool", "probe")

_WAYS = ("exec", "template", "url")


def read_probe(
    keys: ManifestKeys, own: Mapping[str, BaseModel], sections: Sections, faults: list[Fault]
) -> Probe | None:
    """Read the section, or add its faults; ``own`` are the keys of the backends' ``sections``."""
    probe = keys.tool.probe
    if probe is None:
        return None
    ways = [name for name in _WAYS if getattr(probe, name) is not None]
    reader = next((name for name, s in sections.items() if {*ways} & {*s.probes}), None)
    happened, absent = (
        (probe.happened_status, probe.absent_status)
        if probe.url
        else (probe.happened_exit, probe.absent_exit)
    )
    found = []
    if keys.tool.effect not in ("once", "keyed"):
        found.append(f"is for 'once' and 'keyed': what is {keys.tool.effect!r} is just repeated")
    if len(ways) != 1:
        found.append("needs one of 'exec', 'template' and 'url'")
    elif reader is None:
        found.append("is a command for a tool with [command], and a 'url' for one with [http]")
    both = sorted({*happened} & {*absent})
    if both:
        found.append(f"takes {both[0]} for yes and for no")
    faults += [Fault(SECTION, message) for message in found]
    if found or reader is None:
        return None
    added: list[Fault] = []
    form = sections[reader].read_probe(keys, own[reader], probe, added)
    faults += checked_faults(reader, added)
    return Probe(probe, form, happened, absent)
