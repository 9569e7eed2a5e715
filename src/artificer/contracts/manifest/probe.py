"""``[tool.probe]``: asking the world whether a call happened, in the words of the tool itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from artificer.contracts.arguments.check import Fault
from artificer.contracts.command.argv import Group, names_of
from artificer.contracts.command.read import read_groups
from artificer.contracts.http.template import HttpTemplate, read_template
from artificer.contracts.keys.http import HttpKeys
from artificer.contracts.keys.manifest import (
    KEY_PLACE,
    CommandKeys,
    ManifestKeys,
    ProbeKeys,
)
from artificer.contracts.manifest.check import command_faults

_SECTION = ("tool", "probe")


@dataclass(frozen=True)
class Probe:
    """A command or a request that asks; the codes that say yes, and those that say no."""

    keys: ProbeKeys
    groups: tuple[Group, ...] = ()
    http: HttpTemplate | None = None

    def found(self, code: int | None) -> Literal["happened", "absent", "unknown"]:
        """What an exit code, or the status of an answer, says."""
        keys = self.keys
        happened, absent = (
            (keys.happened_exit, keys.absent_exit)
            if self.http is None
            else (keys.happened_status, keys.absent_status)
        )
        return "happened" if code in happened else "absent" if code in absent else "unknown"


def read_probe(keys: ManifestKeys, faults: list[Fault]) -> Probe | None:
    """Read the section, or say what is wrong with it."""
    asked = keys.tool.probe
    if asked is None or not _fits(keys, asked, faults):
        return None
    return _request(keys, asked, faults) if asked.url else _command(keys, asked, faults)


def _fits(keys: ManifestKeys, asked: ProbeKeys, faults: list[Fault]) -> bool:
    found = []
    ways = [name for name in ("exec", "template", "url") if getattr(asked, name) is not None]
    if keys.tool.effect not in ("once", "keyed"):
        found.append(f"is for 'once' and 'keyed': what is {keys.tool.effect!r} is just repeated")
    if len(ways) != 1:
        found.append("needs one of 'exec', 'template' and 'url'")
    elif (ways[0] == "url") != (keys.http is not None) or not (keys.command or keys.http):
        found.append("is a command for a tool with [command], and a 'url' for one with [http]")
    codes = (
        (asked.happened_status, asked.absent_status)
        if asked.url
        else (asked.happened_exit, asked.absent_exit)
    )
    both = sorted({*codes[0]} & {*codes[1]})
    if both:
        found.append(f"takes {both[0]} for yes and for no")
    faults += [Fault(_SECTION, message) for message in found]
    return not found


def _command(keys: ManifestKeys, asked: ProbeKeys, faults: list[Fault]) -> Probe:
    constants = keys.command.defaults if keys.command else {}
    misread: list[Fault] = []
    groups = read_groups(CommandKeys(exec=asked.exec, template=asked.template), misread)
    if groups:
        names = names_of(groups)
        if places := {n for n in names if n.startswith("_")} - {KEY_PLACE}:
            misread.append(Fault((), f"has no {{{min(places)}}}: a probe has no folder"))
        used = CommandKeys(
            exec=asked.exec,
            template=asked.template,
            defaults={n: v for n, v in constants.items() if n in names},
        )
        misread += command_faults(_only(keys, names), used, groups)
    faults += [Fault(_SECTION, fault.message) for fault in misread]
    return Probe(asked, groups)


def _request(keys: ManifestKeys, asked: ProbeKeys, faults: list[Fault]) -> Probe:
    whole = HttpKeys(
        method=asked.method,
        url=asked.url or "",
        headers=asked.headers,
        success_status=asked.happened_status,
        allow_private=keys.http is not None and keys.http.allow_private,
    )
    template, misread = read_template(whole, keys.args)
    # It need not use every argument, as the tool itself must.
    misread = [fault for fault in misread if "is not used by" not in fault.message]
    if template is None and not misread:
        used = "".join((whole.url, *whole.headers.values()))
        template, _ = read_template(
            whole, {n: a for n, a in keys.args.items() if f"{{{n}}}" in used}
        )
    faults += [Fault((*_SECTION, f.key.partition(".")[0]), f.message) for f in misread]
    return Probe(asked, http=template)


def _only(keys: ManifestKeys, names: frozenset[str]) -> ManifestKeys:
    """The keys with the arguments that a probe uses."""
    tool = keys.tool.model_copy(update={"binary": ""})
    return keys.model_copy(
        update={"tool": tool, "args": {n: a for n, a in keys.args.items() if n in names}}
    )
