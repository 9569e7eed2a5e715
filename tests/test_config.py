"""Where a world may be, whoever says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer.config import load_config
from artificer.errors import ConfigError


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
        assert (config.project, config.model) == (None, None)

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
