"""The sections of built-in backends pass the suite that is published; broken ones do not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import random
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from artificer.contracts.arguments.check import Fault
from artificer.contracts.definition import AGENT_ORIGIN, ToolDefinition
from artificer.extend import Manifest, ManifestFile, ManifestKeys, ManifestSection
from artificer.manifests.registry import BACKENDS
from artificer.testing.section_suite import SectionSuite
from suite_faults import faults

pytestmark = pytest.mark.req("suite-section")

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"

HEAD = """
[tool]
name = "look"
version = "1"
description = "Look."
effect = "pure"
[args.what]
required = true
"""

MCP = (
    HEAD
    + """
[mcp]
server = "shop"
tool = "find"
field_map = {what = "query"}
"""
)

BROWSER = """
[tool]
name = "shop"
version = "1"
description = "A shop."
mode = "browser"
[browser]
engine = "playwright"
[browser.scope]
allowed_domains = ["shop.example"]
[browser.commands.navigate]
description = "Open a page."
[browser.commands.navigate.args.url]
type = "url"
required = true
"""

MANIFESTS = {
    "command": {name: (EXAMPLES / name).read_text() for name in ("jq_query.clad.toml",)},
    "http": {"issue.clad.toml": (EXAMPLES / "http" / "create_issue.clad.toml").read_text()},
    "mcp": {"look.clad.toml": MCP},
    "session": {name: (EXAMPLES / name).read_text() for name in ("bc_session.clad.toml",)},
    "browser": {"shop.clad.toml": BROWSER},
}


@pytest.mark.parametrize("name", BACKENDS.names)
class TestBuiltIn(SectionSuite):
    """Every section that is built in."""

    @pytest.fixture
    def section(self, name: str) -> ManifestSection[Any, Any]:
        found = BACKENDS.get(name)
        assert found is not None
        return found.section

    @pytest.fixture
    def manifests(self, name: str) -> Mapping[str, str]:
        return MANIFESTS[name]


class LookKeys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    at: str
    times: int = 1


class LookSection(ManifestSection[LookKeys, LookKeys]):
    """One that keeps every promise."""

    name = "look"
    keys = LookKeys

    def read(
        self, manifest: ManifestKeys, keys: LookKeys, faults: list[Fault], *, compat: bool
    ) -> LookKeys | None:
        """Return the keys."""
        if "{what}" not in keys.at:
            faults.append(Fault(("look", "at"), "has no {what}"))
        return keys


class Raising(LookSection):
    """It believes that a text is a number."""

    def read(self, *given: Any, **options: Any) -> LookKeys | None:
        """Divide by the number of times."""
        assert 1 / given[1].times
        return super().read(*given, **options)


class RaisingLate(LookSection):
    """It believes so when a run asks for its tools."""

    def definitions(self, manifest: Manifest[LookKeys]) -> tuple[ToolDefinition, ...]:
        """Divide by the number of times."""
        assert 1 / manifest.part.times
        return super().definitions(manifest)


class Silent(LookSection):
    """It reads nothing and says no reason."""

    def read(self, *given: Any, **options: Any) -> LookKeys | None:
        """Return nothing."""
        return super().read(*given, **options) if given[1].times == 1 else None


class Reading(LookSection):
    """It looks whether a file is there."""

    def read(self, *given: Any, **options: Any) -> LookKeys | None:
        """Open a file of the machine."""
        with Path(__file__).open(encoding="utf-8"):
            return super().read(*given, **options)


class Elsewhere(LookSection):
    """Its faults are at a key that no file has."""

    def read(self, *given: Any, **options: Any) -> LookKeys | None:
        """Add a fault."""
        if given[1].times != 1:
            given[2].append(Fault(("times",), "is not one"))
        return super().read(*given, **options)


class Long(LookSection):
    """Its faults have no key, and no reason."""

    def read(self, *given: Any, **options: Any) -> LookKeys | None:
        """Add a fault."""
        if given[1].times != 1:
            given[2].append(Fault((), ""))
        return super().read(*given, **options)


class AnyKeys(LookKeys):
    """Keys that take any other."""

    model_config = ConfigDict(extra="ignore")


class Open(LookSection):
    """It takes any key."""

    keys = AnyKeys


class Changing(LookSection):
    """Its tools are others each time."""

    def definitions(self, manifest: Manifest[LookKeys]) -> tuple[ToolDefinition, ...]:
        """Return a tool with a new description."""
        return (manifest.definition.replace(description=f"Look {random()}"),)


class Empty(LookSection):
    """It offers no tool."""

    def definitions(self, manifest: Manifest[LookKeys]) -> tuple[ToolDefinition, ...]:
        """Return none."""
        return ()


class Alone(LookSection):
    """It believes that its folder has nothing else."""

    def link(self, files: Sequence[ManifestFile[Any]]) -> tuple[list[ManifestFile[Any]], list[str]]:
        """Return its own files."""
        return [file for file in files if file.manifest.backend == self.name], []


class Disguised(LookSection):
    """Its tools pass as agents, whose calls are runs."""

    def origin(self, part: LookKeys) -> str:
        """Return that of an agent."""
        return AGENT_ORIGIN


LOOK = {"look.clad.toml": HEAD + '[look]\nat = "the {what}"\ntimes = 1\n'}

BROKEN: dict[type[LookSection], str] = {
    Raising: "test_hostile_values_end_in_faults",
    RaisingLate: "test_hostile_values_end_in_faults",
    Silent: "test_hostile_values_end_in_faults",
    Reading: "test_it_does_no_io",
    Elsewhere: "test_a_fault_has_a_file_a_line_and_a_key",
    Long: "test_a_fault_has_a_file_a_line_and_a_key",
    Open: "test_an_unknown_key_is_a_fault",
    Changing: "test_it_reads_its_own_manifests",
    Empty: "test_it_reads_its_own_manifests",
    Disguised: "test_it_reads_its_own_manifests",
    Alone: "test_linking_leaves_the_files_of_others",
}


async def test_one_that_keeps_every_promise_passes() -> None:
    assert await faults(SectionSuite, section=LookSection, manifests=lambda: LOOK) == set()


@pytest.mark.parametrize("broken", BROKEN, ids=lambda kind: kind.__name__)
async def test_a_broken_one_is_found_out(broken: type[LookSection]) -> None:
    wanted = BROKEN[broken]
    found = await faults(SectionSuite, wanted, section=broken, manifests=lambda: LOOK)
    assert found == {wanted}


def test_watching_says_nothing_when_the_interpreter_ends() -> None:
    """The last events are audited after the names of modules are gone."""
    program = (
        "import sys, artificer.testing.section_suite as suite\n"
        "with suite._watch: pass\n"
        "class Last:\n"
        "    def __del__(self, audit=sys.audit): audit('open')\n"
        "suite.last = Last()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
