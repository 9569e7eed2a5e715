"""A short program imports nothing that its run does not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import artificer
from artificer.providers.scripted import ScriptedProvider, call, reply, say

@artificer.tool(effect="pure")
def add(a: int, b: int = 2, *, note: str | None = None, of: list[float] | None = None) -> int:
    "Add two numbers."
    return a + b

model = ScriptedProvider([reply(call("add", a=1, b=2)), say("One and two\\n\\nare three.")])
run = artificer.run("Add 1 and 2.", model=model, tools=[add], {fields})
assert run.status == "completed", run
print(*sorted(sys.modules))
"""

UNUSED = {
    *("pydantic", "pydantic_core", "markdown_it", "importlib.metadata", "anthropic", "openai"),
    "tomllib",
    *("httpx", "mcp", "opentelemetry", "cedarpy", "jinja2", "nh3", "tinycss2", "xml.parsers.expat"),
    *("artificer.manifests", "artificer.render", "artificer.report", "artificer.runtime.builds"),
    *("artificer.backends.browser.executor", "artificer.backends.command"),
    *("artificer.backends.http",),
    *("artificer.backends.mcp.connection", "artificer.backends.sandbox.sandbox"),
    *("artificer.backends.session", "artificer.backends.function.typed", "artificer.cli"),
    *("artificer.backends.backend", "artificer.artifacts.svg.rebuild"),
}
ARTIFACTS = {
    *("artificer.artifacts.chart", "artificer.artifacts.table", "artificer.artifacts.list"),
    *("artificer.artifacts.checklist", "artificer.artifacts.file", "artificer.artifacts.svg"),
}


@pytest.mark.req("program-imports")
@pytest.mark.parametrize(
    ("fields", "unused"),
    [("", UNUSED), ("kind='chat'", UNUSED | ARTIFACTS)],
    ids=["deliver", "chat"],
)
def test_a_short_program_imports_only_what_its_run_uses(
    fields: str, unused: set[str], tmp_path: Path
) -> None:
    assert set(output_of(PROGRAM.replace("{fields}", fields), tmp_path).split()) & unused == set()


CLASSES = """
print("--", *sorted(
    f"{kind.__module__}.{kind.__name__}"
    for name, module in sys.modules.items() if name.startswith("artificer")
    for kind in vars(module).values()
    if isinstance(kind, type) and kind.__module__ == name
    and vars(kind).keys() & {"__dataclass_fields__", "_field_defaults"}
))
"""
CLASSES_LEFT = {
    "artificer.agent.Agent",
    "artificer.agent_definition.AgentDefinition",
    "artificer.backends.function.decorator.FunctionTool",
    "artificer.plugins.PlugIn",
}
"""Classes that people copy with `dataclasses.replace`, one that cannot be a struct (the wrapper of
a function), and one of a module that commands import without msgspec."""


@pytest.mark.req("program-structs")
def test_a_short_program_makes_few_dataclasses_and_named_tuples(tmp_path: Path) -> None:
    made = output_of(PROGRAM.replace("{fields}", "") + CLASSES, tmp_path).rpartition("--")[2]
    assert set(made.split()) == CLASSES_LEFT


def output_of(program: str, folder: Path) -> str:
    """Return what a program prints, in a process of its own and with a home in the folder."""
    environment = {**os.environ, "ARTIFICER_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.req("command-collects-rarely")
def test_a_command_looks_for_garbage_rarely(tmp_path: Path) -> None:
    """A process of our own may decide that; a program that imports the library is left alone."""
    program = """
import gc
import artificer
gc.disable()
before = gc.get_threshold()
from artificer.cli.main import perform
assert gc.get_threshold() == before
assert perform(["runs"]) == 0
assert gc.isenabled() and gc.get_freeze_count()
from artificer.cli.declare import COLLECT_EVERY
assert gc.get_threshold() == (COLLECT_EVERY, *before[1:])
"""
    environment = {"ARTIFICER_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True)
