"""Finding the manifests of child sessions, beside those of the sessions that open them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from artificer.backends.command.executor import CommandTool
from artificer.contracts.session.model import Contract, child_faults


def with_children(tools: Sequence[CommandTool]) -> tuple[list[CommandTool], list[str]]:
    """The tools of a folder, sessions with their children; and what is wrong with these.

    A child's file is looked for by its name alone, in the folder. A session that only another one
    opens is no tool by itself.
    """
    by_file = {PurePosixPath(tool.file).name: tool for tool in tools}
    linked: list[CommandTool] = []
    faults: list[str] = []
    children = {name for tool in tools if (name := _child_file(tool))}
    for tool in tools:
        session, child_file = tool.manifest.session, _child_file(tool)
        if session is not None and not session.startup_command:
            if PurePosixPath(tool.file).name not in children:
                faults.append(
                    f"{tool.file}: session.startup_command: is missing: only a session that "
                    "another one opens has none"
                )
            continue
        if child_file is None:
            linked.append(tool)
            continue
        child = by_file.get(child_file)
        faults += [
            f"{tool.file}: session.child_detection.manifest: {reason}"
            for reason in _faults(tool, child, child_file)
        ]
        if child is not None:
            manifest = replace(tool.manifest, child=child.manifest)
            linked.append(CommandTool(manifest, tool.file))
    return linked, faults


def _child_file(tool: CommandTool) -> str | None:
    session = tool.manifest.session
    detection = session.child_detection if session else None
    return PurePosixPath(detection.manifest).name if detection else None


def _faults(tool: CommandTool, child: CommandTool | None, file: str) -> Iterator[str]:
    if child is None:
        yield f"there is no {file} in this folder"
    elif child.manifest.session is None:
        yield f"{file} has no [session]"
    else:
        contract = Contract(child.manifest.tool, child.manifest.session)
        for reason in child_faults(tool.manifest.tool, contract):
            yield f"{file} {reason}"
