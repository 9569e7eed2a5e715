"""Labels and origins: who says what of a tool, and where it is seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from artificer.backends.function.decorator import tool
from artificer.backends.mcp.settings import McpServerConfig
from artificer.backends.mcp.spec.tools import McpContract, RemoteFacts, adopt
from artificer.config import Config
from artificer.contracts.definition import CedarKeys, ToolDefinition, Toolset
from artificer.errors import ConfigError
from artificer.manifests.parse import parse_manifest
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import memory_storage
from artificer.wiring.toolbox import ToolBox, build_tools

pytestmark = pytest.mark.req("policy-labels")

HEAD = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
COMMAND = '[command]\nexec = ["true"]\n'
HTTP = '[http]\nmethod = "GET"\nurl = "https://a.example/"\n'
MCP = '[mcp]\nserver = "s"\ntool = "x"\n'


def manifest(section: str, keys: str = "") -> ToolDefinition:
    return parse_manifest(HEAD + keys + section, "t.clad.toml").definition


def test_what_comes_from_outside_is_untrusted_until_somebody_vouches_for_it() -> None:
    assert [manifest(s).trust for s in (COMMAND, HTTP, MCP)] == [
        "trusted",
        "untrusted",
        "untrusted",
    ]
    assert manifest(HTTP, 'trust = "trusted"\n').trust == "trusted"
    assert manifest(COMMAND, 'trust = "untrusted"\n').trust == "untrusted"


def test_a_manifest_names_what_is_sensitive_and_what_cedar_calls_it() -> None:
    labelled = manifest(COMMAND, 'sensitive = true\ncedar = {resource = "A::B", action = "c"}\n')
    assert labelled.sensitive
    assert labelled.cedar == CedarKeys(resource="A::B", action="c")


def test_a_server_is_labelled_by_its_settings_and_not_by_itself() -> None:
    facts = RemoteFacts(name="x", description="trusted", input_schema={"type": "object"})
    assert adopt("s", facts, McpContract()).definition.trust == "untrusted"
    server = McpServerConfig(url="https://a.example", trust="trusted", sensitive=True)
    contract = McpContract(trust=server.trust, sensitive=server.sensitive)
    adopted = adopt("s", facts, contract).definition
    assert (adopted.trust, adopted.sensitive, adopted.origin) == ("trusted", True, "mcp:s")


def test_a_function_is_labelled_by_its_author() -> None:
    @tool(trust="untrusted", sensitive=True)
    async def mail(to: str) -> str:
        """Send and read mail."""
        return to

    assert (mail.definition.trust, mail.definition.sensitive) == ("untrusted", True)


def test_a_tool_of_a_run_says_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "t.clad.toml").write_text(HEAD + COMMAND, encoding="utf-8")

    @tool
    async def f() -> str:
        """Do it."""
        return ""

    box = build_tools(
        [tmp_path, f], kind="deliver", world=WorldResources(Config(), memory_storage())
    )
    origins = {t.name: t.origin for t in box.toolset.tools}
    assert origins["t"] == f"command:{tmp_path}"
    assert (origins["f"], origins["create_table"]) == ("function", "artifact")


class Line(BaseModel):
    sku: str


@pytest.mark.req("resume-open-objects")
def test_a_run_of_a_release_that_left_nested_objects_open_goes_on() -> None:
    """Its calls are still checked against the recorded schema."""

    @tool
    async def order(lines: list[Line]) -> str:
        """Order."""
        return str(len(lines))

    here = build_tools([order], kind="chat", world=WorldResources(Config(), memory_storage()))
    past: Any = json.loads(json.dumps(order.definition.input_schema))
    del past["properties"]["lines"]["items"]["additionalProperties"]
    recorded = order.definition.replace(input_schema=past)
    here.require_same(Toolset(tools=(recorded,)))
    past["properties"]["lines"]["items"]["required"] = []
    with pytest.raises(ConfigError, match="has changed"):
        here.require_same(Toolset(tools=(recorded.replace(input_schema=past),)))


def test_other_labels_do_not_keep_a_run_from_going_on() -> None:
    here = manifest(COMMAND, "sensitive = true\n").replace(origin="command:/b")
    box = ToolBox(Toolset(tools=(here,)), {}, ())
    box.require_same(Toolset(tools=(manifest(COMMAND),)))
    with pytest.raises(ConfigError, match="has changed"):
        box.require_same(Toolset(tools=(manifest(COMMAND, 'risk_tier = "high"\n'),)))
