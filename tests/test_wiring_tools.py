"""A world's part in the tools of a folder: its blobs, its folder, its leniency, its keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.cli.tools.call import preview_of
from artificer.config import Config, ProviderConfig
from artificer.contracts.definition import ToolDefinition
from artificer.errors import AuthorError, ConfigError, ManifestError, NotFoundError
from artificer.ports import Call
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.providers.scripted import ScriptedProvider
from artificer.secrets.resolver import ENVIRONMENT
from artificer.wiring.folders import checked_executors
from artificer.wiring.providers import made
from artificer.wiring.resources import WorldResources
from artificer.wiring.secrets import redactor_of
from artificer.wiring.storage import memory_storage, open_storage
from artificer.wiring.toolbox import build_tools
from artificer.world import World

pytestmark = pytest.mark.req("wiring-manifests")

TEXT = """
[tool]
name = "count"
version = "1"
description = "Count up."
[command]
executor = "./count.sh"
"""


def folder_of(tmp_path: Path, text: str = TEXT) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "count.clad.toml").write_text(text)
    script = folder / "count.sh"
    script.write_text("#!/bin/sh\nseq 20000 | tee $TOOLCLAD_OUTPUT_DIR/copy\n")
    script.chmod(0o700)
    return folder


async def test_long_output_and_evidence_go_where_the_project_is(tmp_path: Path) -> None:
    config = Config(home=tmp_path / "home", project="p")
    storage = await open_storage(config)
    try:
        box = build_tools([folder_of(tmp_path)], kind="chat", world=WorldResources(config, storage))
        call = Call("run-1", "c", box.toolset.tools[0], {}, "k")
        receipt = await box.executors["count"].execute(call)
    finally:
        await storage.aclose()
    (digest,) = json.loads(receipt.evidence or "")["output_blobs"]
    printed = storage.blobs.get(digest)
    assert printed.splitlines()[-1] == b"20000"
    (copy,) = (config.project_folder / "evidence").rglob("copy")
    assert copy.read_bytes() == printed


@pytest.mark.req("tools-stable-order")
async def test_tools_are_in_the_same_order_wherever_they_are_found(tmp_path: Path) -> None:
    @tool
    def zebra() -> str:
        """The last one."""
        return ""

    @tool
    def ant() -> str:
        """The first one."""
        return ""

    storage = memory_storage()
    orders = [[zebra, folder_of(tmp_path), ant]]
    orders.append(orders[0][::-1])
    boxes = [build_tools(o, kind="chat", world=WorldResources(Config(), storage)) for o in orders]
    assert [box.toolset.names for box in boxes] == [("ant", "count", "zebra")] * 2


async def test_the_configuration_says_how_folders_are_read(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, TEXT.replace('version = "1"', ""))
    config = Config(home=tmp_path / "home", project="p")
    storage = await open_storage(config)
    try:
        with pytest.raises(ManifestError, match="is missing"):
            build_tools([folder], kind="chat", world=WorldResources(config, storage))
        lenient = config.replace(tools_compat=True)
        assert build_tools(
            [folder], kind="chat", world=WorldResources(lenient, storage)
        ).toolset.tools
        signed = config.replace(tools_keys=(tmp_path / "no-key.pem",))
        with pytest.raises(ConfigError, match="not a public key"):
            build_tools([folder], kind="chat", world=WorldResources(signed, storage))
    finally:
        await storage.aclose()


@pytest.mark.req("secrets-nowhere")
def test_keys_are_hidden_and_short_values_and_user_names_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_SHOP_PASSWORD", "correct horse")
    monkeypatch.setenv("ARTIFICER_SECRET_SHOP_USERNAME", "alexander")
    monkeypatch.setenv("TOOLCLAD_SECRET_PIN", "1234")
    monkeypatch.setenv("MY_KEY", "sk-0123456789")
    own = {"p": ProviderConfig(base_url="http://x", api_key_env="MY_KEY")}
    said = "alexander 1234 correct%20horse sk-0123456789"
    cleaned = redactor_of(Config(providers=own), ENVIRONMENT).clean(said)
    assert cleaned == "alexander 1234 [secret ARTIFICER_SECRET_SHOP_PASSWORD] [secret MY_KEY]"


@pytest.mark.parametrize(
    ("named", "said"), [("tools/count.clad.toml", "is a file"), ("tool", "does not exist")]
)
async def test_what_is_no_folder_of_tools_is_named(tmp_path: Path, named: str, said: str) -> None:
    folder_of(tmp_path)
    model = ScriptedProvider([])
    async with World.in_memory() as world:
        with pytest.raises(NotFoundError, match=said):
            await world.run("Go.", Agent(model, tools=[tmp_path / named]))


@pytest.mark.req("plugin-unusable")
@pytest.mark.parametrize(("made", "kind"), [(None, "NoneType"), (5, "int"), (["stock"], "str")])
def test_a_backend_that_makes_no_executors_is_named(made: object, kind: str) -> None:
    with pytest.raises(ConfigError, match=rf"backend \[csv\] made a {kind} where an executor"):
        checked_executors("csv", made)
    assert checked_executors("csv", iter(())) == []


@pytest.mark.req("plugin-unusable")
def test_a_preview_that_is_none_is_named() -> None:
    class Odd:
        def preview(self, call: Call) -> Any:
            return "tea"

    tool = ToolDefinition(name="brew", description="Brew.", input_schema={}, backend="kettle")
    with pytest.raises(AuthorError, match="executor of brew returned a str as the preview") as odd:
        preview_of(Odd(), Call("run-1", "call-1", tool, {}, "key"))
    assert "the backend 'kettle'" in str(odd.value.hint)


@pytest.mark.req("plugin-provider")
def test_a_provider_has_the_name_that_runs_record(tmp_path: Path) -> None:
    kind = ProviderKind(make=lambda place: ScriptedProvider([]))
    assert made(kind, ProviderPlace(name="scripted", home=tmp_path)).name == "scripted"
    with pytest.raises(ConfigError, match="created for 'office' is called 'scripted'"):
        made(kind, ProviderPlace(name="office", home=tmp_path))
    nothing = ProviderKind(make=lambda place: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(ConfigError, match="created for 'office' is an object of type NoneType"):
        made(nothing, ProviderPlace(name="office", home=tmp_path))
