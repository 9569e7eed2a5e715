"""Settings: where a world may be, and every mistake in a file explained."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from artificer.builds.prompt import FILES
from artificer.config import Config, default_project, load_config
from artificer.contracts.capabilities import Host
from artificer.errors import ConfigError
from artificer.runtime.builds.detect import detect
from artificer.runtime.builds.prompts import load_prompts


@pytest.mark.req("project-name")
class TestProject:
    @pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../x", "/etc", "a\n", "a\x00b", "a b"])
    def test_a_project_is_one_folder_in_the_home(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ConfigError):
            load_config(tmp_path, home=str(tmp_path), project=name)

    @pytest.mark.parametrize("name", ["..", ".", "a/b"])
    def test_wherever_it_is_said(
        self, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ARTIFICER_PROJECT", name)
        with pytest.raises(ConfigError, match="project"):
            load_config(tmp_path)
        monkeypatch.delenv("ARTIFICER_PROJECT")
        (tmp_path / "artificer.toml").write_text(f'project = "{name}"\n')
        with pytest.raises(ConfigError, match="project"):
            load_config(tmp_path)

    @pytest.mark.parametrize("name", ["...", ".x", "a..b", "a-b_c.d"])
    def test_dots_in_a_name_are_no_harm(self, tmp_path: Path, name: str) -> None:
        config = load_config(tmp_path, home=str(tmp_path), project=name)
        assert config.project_folder == tmp_path / name


@pytest.mark.req("home-name")
class TestHome:
    def test_an_empty_variable_is_one_that_is_not_set(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        for name in ("HOME", "PROJECT", "MODEL"):
            monkeypatch.setenv(f"ARTIFICER_{name}", "")
        config = load_config(tmp_path)
        assert config.home == tmp_path / ".artificer"
        assert (config.project, config.model) == (default_project(Path.cwd()), None)

    def test_an_empty_home_is_no_home(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("ARTIFICER_HOME", raising=False)
        with pytest.raises(ConfigError, match="home has an empty name"):
            load_config(tmp_path, home="")
        (tmp_path / "artificer.toml").write_text('home = ""\n')
        with pytest.raises(ConfigError, match="home has an empty name"):
            load_config(tmp_path)

    def test_the_home_of_nobody(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be found"):
            load_config(tmp_path, home="~nobody-of-that-name/x")


@pytest.mark.req("settings-placed")
class TestPlaces:
    def test_a_working_directory_that_is_gone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gone = tmp_path / "release-41"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        for make in (load_config, lambda: load_config(tmp_path), Config(home=Path("x")).placed):
            with pytest.raises(ConfigError, match="working directory cannot be found") as caught:
                make()
            assert "Change to a folder" in (caught.value.hint or "")
        assert load_config(tmp_path, home=str(tmp_path), project="mine").project == "mine"

    def test_every_path_is_absolute_once_it_is_placed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "user"))
        monkeypatch.chdir(tmp_path)
        config = Config(
            home=Path("home"),
            tools=(Path("tools"), Path("~/tools")),
            tools_keys=(Path("key.pub"),),
            local_model=Path("model.gguf"),
            host=Host(folder="~"),
        ).placed()
        assert config.home == tmp_path / "home"
        assert config.tools == (tmp_path / "tools", tmp_path / "user/tools")
        assert config.tools_keys == (tmp_path / "key.pub",)
        assert config.local_model == tmp_path / "model.gguf"
        assert config.host == Host(folder=str(tmp_path / "user"))
        assert config.placed() == config

    def test_a_file_may_begin_with_a_byte_order_mark(self, tmp_path: Path) -> None:
        (tmp_path / "artificer.toml").write_text('model = "a/b"\n', encoding="utf-8-sig")
        assert load_config(tmp_path).model == "a/b"


WHOLE = """
model = "a/b"
tools = ["tools"]
[policy]
default = "ask"
[[policy.rules]]
decision = "deny"
tool = "do*"
[providers.p]
base_url = "http://127.0.0.1:1"
[prices."a/b"]
input = 1.5
output = 2
[budget]
per_day_dollars = 5
[mcp.servers.s]
command = ["x"]
[sandbox]
mode = "auto"
[[workspaces]]
names = ["a"]
"""


@pytest.mark.req("settings-explained")
class TestFaults:
    @pytest.mark.parametrize(
        ("text", "message", "hint"),
        [
            ("modle = 1", "modle: Extra inputs are not permitted", "'model'"),
            ("[budget]\nper_run_repeats = 2", "budget.per_run_repeats: must be at least 3", ""),
            ("[budget]\nper_day_dollars = nan", "budget.per_day_dollars: Input should be", ""),
            ('[providers.p]\nprotocol = "x"', "providers.p.protocol: no provider speaks it", ""),
            (
                '[providers.p]\nbase_url = "localhost:8000"',
                "providers.p.base_url: is not a URL",
                "",
            ),
            ('[providers.p]\nprotocol = "caller"', "providers.p.protocol: no provider", ""),
            ("[mcp.servers.s]", "mcp.servers.s: needs either 'command' or 'url'", ""),
            ('[mcp.servers.s]\ncommand = ["x"]\nulr = "x"', "mcp.servers.s.ulr: Extra", "'url'"),
            ('[[workspaces]]\nnames = ["a", "../b"]', "workspaces #1.names #2: the work", ""),
            ('introspect = "yes"', "introspect: Input should be a valid boolean", ""),
            ("tools = 'x'", "tools: Input should be a valid array", ""),
            ("[backends.x]\nn = 9007199254740992", "backends.x.n: a number must be", ""),
            ("[[policy.rules]]\nx = [1, -9007199254740992]", "policy.rules.#1.x.#2: a number", ""),
            ('[models."a/b"]\nseed = 9007199254740992', "models.a/b.seed: a number", ""),
        ],
    )
    def test_one_has_a_place_and_a_hint(
        self, tmp_path: Path, text: str, message: str, hint: str
    ) -> None:
        (tmp_path / "artificer.toml").write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_config(tmp_path)
        assert f"artificer.toml: {message}" in caught.value.message
        assert hint in (caught.value.hint or "")

    def test_all_of_them_are_named_at_once(self, tmp_path: Path) -> None:
        text = 'model = 1\n[sandbox]\nmode = "x"\nwritable = [1]\n[host]\nwrite = true'
        (tmp_path / "artificer.toml").write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_config(tmp_path)
        places = ("model: ", "sandbox.mode: ", "sandbox.writable #1: ", "host.folder: ")
        assert all(place in caught.value.message for place in places)

    def test_lists_in_lists_without_end(self, tmp_path: Path) -> None:
        (tmp_path / "artificer.toml").write_text(f"tools = {'[' * 5_000}{']' * 5_000}")
        with pytest.raises(
            ConfigError, match=r"artificer\.toml cannot be read: its values are nest"
        ):
            load_config(tmp_path)

    def test_a_file_without_any_is_read_without_pydantic(self, tmp_path: Path) -> None:
        (tmp_path / "artificer.toml").write_text(WHOLE)
        program = (
            "import sys; from artificer.config import load_config; config = load_config(); "
            "assert config.mcp.servers['s'].command == ('x',); "
            "assert config.budget.day.micros == 5_000_000; "
            "assert 'pydantic' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


@pytest.mark.req("settings-regular")
class TestNoFile:
    """Names of a checkout that lead to a pipe or a device, whose content has no end."""

    @pytest.fixture(params=["pipe", "zero", "large"])
    def endless(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        place = tmp_path / "endless"
        if request.param == "pipe":
            os.mkfifo(place)
        elif request.param == "zero":
            place.symlink_to("/dev/zero")
        else:
            place.write_bytes(b"# \n" * 500_000)
        return place

    def test_settings(self, endless: Path) -> None:
        (endless.parent / "artificer.toml").symlink_to(endless)
        with pytest.raises(ConfigError, match=r"artificer\.toml cannot be read"):
            load_config(endless.parent)

    def test_policies(self, endless: Path) -> None:
        (endless.parent / "artificer.toml").write_text('[policy]\ncedar = ["endless"]\n')
        with pytest.raises(ConfigError):
            load_config(endless.parent)

    def test_instructions(self, endless: Path) -> None:
        folder = endless.parent / "prompts"
        folder.mkdir()
        (folder / FILES[0]).symlink_to(endless)
        with pytest.raises(ConfigError):
            load_prompts([folder])

    def test_a_project_that_is_looked_at(self, endless: Path) -> None:
        (endless.parent / "Makefile").symlink_to(endless)
        (endless.parent / "package.json").symlink_to(endless)
        assert detect(endless.parent).commands == ()
