"""Sessions within sessions, and what programs say unasked: a real Python and its debugger."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools_support import appears

from artificer.backends.loader import load_folder
from artificer.backends.refusal import refuse
from artificer.backends.session.executor import SessionExecutor
from artificer.contracts.schema import compile_schema
from artificer.errors import ManifestError
from artificer.ports import Call

PARENT = f"""
[tool]
name = "py"
version = "1"
description = "A Python."
risk_tier = "medium"
timeout_seconds = 10
[session]
startup_command = "{sys.executable} -q -i"
ready_pattern = "^>>> $"
[session.child_detection]
pattern = '> <string>\\(\\d+\\)'
type = "debugger"
manifest = "tools/debugger.clad.toml"
[session.commands.run]
pattern = ".*"
description = "Run a line."
"""

CHILD = """
[tool]
name = "debugger"
version = "1"
description = "The debugger."
risk_tier = "low"
timeout_seconds = 10
[session]
ready_pattern = '^\\(Pdb\\) $'
[session.commands.show]
template = "p {name}"
description = "Show a variable."
[session.commands.show.args.name]
required = true
pattern = "[a-z]+"
[session.commands.quit]
pattern = "q"
description = "Leave."
human_approval = true
risk_tier = "high"
"""

OPEN = "import pdb; pdb.run('x = 1')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a session that opens another one."""
    (tmp_path / "py.clad.toml").write_text(PARENT)
    (tmp_path / "debugger.clad.toml").write_text(CHILD)
    return tmp_path


class Talk:
    """The tools of a folder's sessions."""

    def __init__(self, folder: Path) -> None:
        manifests = [tool.manifest for tool in load_folder(folder)]
        self.executor = SessionExecutor(manifests)
        self.tools = {tool.name: tool for tool in self.executor.tools}

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool as the gate does, and return what a model reads."""
        tool = self.tools[name]
        if problems := compile_schema(tool.input_schema).problems(arguments):
            read = refuse(name, problems).content
        else:
            read = (await self.executor.execute(Call("r", "c", tool, arguments, "k"))).content
        answer: dict[str, Any] = json.loads(read)
        return answer

    async def __aenter__(self) -> Talk:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.executor.release("r")


@pytest.mark.req("session-child")
async def test_a_child_is_spoken_to_only_while_it_is_open(folder: Path) -> None:
    async with Talk(folder) as talk:
        assert set(talk.tools) == {"py.run", "py.child.show", "py.child.quit"}
        early = await talk.call("py.child.show", name="x")
        assert "no debugger session is open" in early["fault"]
        assert (await talk.call("py.run", command="y = 7"))["status"] == "success"
        assert "no debugger session" in (await talk.call("py.child.show", name="x"))["fault"]
        opened = await talk.call("py.run", command=OPEN)
        assert (opened["child"], opened["prompt"]) == ("debugger", "(Pdb) ")
        shown = await talk.call("py.child.show", name="y")
        assert (shown["output"], shown["child"]) == ("7", "debugger")
        late = await talk.call("py.run", command="y")
        assert "use py.child.*" in late["fault"] and "output" in late
        assert (await talk.call("py.child.show", name="x; import os"))["status"] == "invalid"
        left = await talk.call("py.child.quit", command="q")
        assert left["prompt"] == ">>> " and "child" not in left
        assert (await talk.call("py.run", command="y"))["output"] == "7"


@pytest.mark.req("session-child")
async def test_before_its_announcement_nothing_is_a_childs_prompt(folder: Path) -> None:
    async with Talk(folder) as talk:
        fake = await talk.call("py.run", command="x = input('(Pdb) ')")
        assert fake["ready"] is False and "child" not in fake
        assert "no debugger session" in (await talk.call("py.child.show", name="x"))["fault"]


@pytest.mark.req("session-child")
def test_a_child_is_never_less_restricted_than_what_opens_it(folder: Path) -> None:
    tools = Talk(folder).tools
    assert tools["py.child.show"].risk == "medium" and tools["py.child.quit"].risk == "high"
    assert not tools["py.child.show"].human_approval and tools["py.child.quit"].human_approval
    asked = PARENT.replace("timeout_seconds", "human_approval = true\ntimeout_seconds")
    (folder / "py.clad.toml").write_text(asked)
    assert all(tool.human_approval for tool in Talk(folder).tools.values())


def broken() -> Iterator[tuple[str, str, str]]:
    """A parent, a child, and what is wrong."""
    yield PARENT.replace("debugger.clad", "../../x.clad"), CHILD, "there is no x.clad.toml"
    yield PARENT, CHILD.replace("ready_pattern = '^", "ready_pattern = '' #"), "no ready_pattern"
    command = '[tool]\nname="debugger"\nversion="1"\ndescription="d"\n[command]\nexec=["true"]\n'
    yield PARENT, command, "has no [session]"
    nested = PARENT[PARENT.index("[session.child_detection]") : PARENT.index("[session.commands")]
    nested = CHILD + nested.replace("debugger.clad", "py.clad")
    yield PARENT, nested, "one level is all there is"
    alone = PARENT.replace(PARENT[PARENT.index("[session.child") : PARENT.index('"tools/')], "# ")
    yield alone, CHILD, "only a session that another one opens has none"


@pytest.mark.req("session-child")
@pytest.mark.parametrize(("parent", "child", "fault"), list(broken()))
def test_a_child_that_could_not_be_opened_is_refused(
    tmp_path: Path, parent: str, child: str, fault: str
) -> None:
    (tmp_path / "py.clad.toml").write_text(parent)
    (tmp_path / "debugger.clad.toml").write_text(child)
    with pytest.raises(ManifestError) as caught:
        load_folder(tmp_path)
    assert fault in caught.value.message


@pytest.mark.req("session-events")
async def test_what_a_program_says_unasked_is_handed_over_with_its_time(tmp_path: Path) -> None:
    events = "[session.events]\npoll_interval_ms = 50\n[session.commands.run]"
    alone = PARENT.replace(PARENT[PARENT.index("[session.child") : PARENT.index('"tools/')], "# ")
    (tmp_path / "py.clad.toml").write_text(alone.replace("[session.commands.run]", events))
    said = tmp_path / "said"
    later = f"""import threading, pathlib; threading.Timer(0.1, lambda: (
        print('all well'), print('ERROR: no'), print('look', chr(7)),
        pathlib.Path({str(said)!r}).write_text("x"))).start()""".replace("\n", " ")
    async with Talk(tmp_path) as talk:
        await talk.call("py.run", command=later)
        await appears(said)
        answer = await talk.call("py.run", command="1 + 1")
        assert [(e["event_type"], e["content"]) for e in answer["events"]] == [
            ("log_line", "all well"),
            ("error", "ERROR: no"),
            ("alert", "look"),
        ]
        assert answer["events"][0]["timestamp"].endswith("+00:00")
        assert answer["output"] == "2" and "before" not in answer
        assert "events" not in await talk.call("py.run", command="1")
