"""The sources of a run: the calls whose results its artifacts may be bound to (since rules 3).

Each call that the gate lets through has a label, ``tool#n``: it is the run's ``n``-th call of that
tool, counted in the order in which the model wrote them. Results name their label, and an artifact
refers to one. A call that failed, or whose result has no data, has a label and no digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from artificer.artifacts.binding.bindable import is_bindable
from artificer.artifacts.binding.sources import cited_label
from artificer.contracts.definition import ToolDefinition, Toolset
from artificer.core.rules import since
from artificer.core.spec import RunSpec
from artificer.core.verdict import Verdict
from artificer.values.base import Digest, Value
from artificer.values.blocks import CallStatus, ToolUseBlock
from artificer.values.canon import digest_of
from artificer.values.strict_json import parse_object

MARK = "\n[Data: "
"""The beginning of the line that ends a result with a label."""


class CallSource(Value):
    """A call with a label. ``digest`` is the blob of its data, if it has some."""

    label: str
    tool: str
    call_id: str
    status: CallStatus
    digest: Digest | None = None


def knows_sources(spec: RunSpec) -> bool:
    """Whether the calls of a run have labels: it has tools whose artifacts can be bound."""
    return since(spec, 3) and _can_bind(spec.toolset)


def is_binding(tool: ToolDefinition) -> bool:
    """Whether a tool takes ``data``, a reference to a recorded result."""
    if tool.backend != "artifact":
        return False
    properties = tool.input_schema.get("properties")
    data = properties.get("data") if isinstance(properties, dict) else None
    members = data.get("properties") if isinstance(data, dict) else None
    return isinstance(members, dict) and "call" in members


def labels_of(
    spec: RunSpec, sources: Sequence[CallSource], verdicts: Sequence[Verdict]
) -> tuple[str, ...]:
    """Return the label of each call of a turn, "" for one that has none."""
    if not knows_sources(spec):
        return ("",) * len(verdicts)
    last: dict[str, int] = {}
    return tuple([_label(spec, verdict, sources, last) for verdict in verdicts])


def chained(digest: str, sources: Sequence[CallSource]) -> str:
    """Return the digest of all sources of a run, from that of the earlier ones."""
    for source in sources:
        digest = digest_of(digest.encode() + source.identity())
    return digest


def cited_in(calls: Sequence[ToolUseBlock], sources: Sequence[CallSource]) -> dict[str, Digest]:
    """Return the data that calls of artifact tools cite: the blobs by the labels of their calls."""
    if not sources:
        return {}
    cited = [cited_label(parse_object(call.arguments)) for call in calls]
    labels = [label for label in cited if label is not None]
    if not labels:  # as nearly always: who looked at all sources would do so at every turn
        return {}
    known = {source.label: source.digest for source in sources if source.digest is not None}
    return {label: known[label] for label in labels if label in known}


def labels_for(calls: Sequence[ToolUseBlock], sources: Sequence[CallSource]) -> tuple[str, ...]:
    """Return the labels of all data, where one of the calls may cite some; else none."""
    if not sources or not any(is_bindable(call.name) for call in calls):
        return ()
    return tuple([source.label for source in sources if source.digest is not None])


def without_label(content: str, label: str) -> str:
    """Return a result's content with the same words for every call of its tool."""
    if not label:
        return content
    body, mark, line = content.rpartition(MARK)
    return body + mark + line.removeprefix(label) if mark else content


def label_in(content: str) -> str:
    """Return the label in the last line of a result, or nothing."""
    return content.rpartition(MARK)[2].partition(" ")[0] if MARK in content else ""


def _label(
    spec: RunSpec, verdict: Verdict, sources: Sequence[CallSource], last: dict[str, int]
) -> str:
    """Return the label of a call; ``last`` are the numbers that this turn has given to tools."""
    tool = spec.tool(verdict.tool)
    if verdict.verdict not in ("allow", "ask") or tool is None or tool.backend == "artifact":
        return ""
    number = last[tool.name] = (last.get(tool.name) or _last_number(sources, tool.name)) + 1
    return f"{tool.name}#{number}"


def _last_number(sources: Sequence[CallSource], tool: str) -> int:
    """Return the number in the newest label of a tool: how many calls of it have one."""
    newest = next((source.label for source in reversed(sources) if source.tool == tool), "#0")
    return int(newest.rpartition("#")[2])


@lru_cache(maxsize=64)
def _can_bind(toolset: str) -> bool:
    return any(map(is_binding, Toolset.read(toolset).tools))
