"""The files of `deploy/`: each command is one that Artificer has, and nothing is open."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from artificer.cli.main import cli
from artificer.config import load_config

pytestmark = pytest.mark.req("deploy")

DEPLOY = Path(__file__).parents[1] / "deploy"


def check(words: list[str]) -> None:
    """Parse a command line as Artificer does."""
    assert words[0].rpartition("/")[2] == "artificer"
    context = click.Context(cli)
    command: click.Command = cli
    words = words[1:]
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words
        command, words = found, words[1:]
    command.make_context(str(command.name), words)


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    found: dict[str, Any] = compose["services"]
    for service in found.values():
        for volume in service.get("volumes", ()):
            name = volume.partition(":")[0]
            assert name.startswith("/") or name in compose["volumes"]
        for needed in service.get("depends_on", ()):
            assert needed in found
    return found


def test_the_services_run_commands_that_there_are(services: dict[str, Any]) -> None:
    ours = [service for service in services.values() if "build" in service]
    assert len(ours) == 3
    for service in ours:
        check(service["command"])
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert {"init", "worker", "studio"} <= set(services)


def test_nothing_is_reached_from_elsewhere_and_no_secret_stands_there(
    services: dict[str, Any],
) -> None:
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name or "SECRET" in name or name.endswith("_KEY"):
                assert value.startswith("${"), name


def test_the_settings_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARTIFICER_STORAGE", raising=False)
    assert load_config(DEPLOY).studio.hosts == ("localhost",)
    lines = (DEPLOY / "Dockerfile").read_text("utf-8").splitlines()
    assert "USER agent" in lines and "COPY artificer.toml ./" in lines


def test_the_unit_is_one(tmp_path: Path) -> None:
    text = (DEPLOY / "artificer-worker.service").read_text("utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    check(shlex.split(line.removeprefix("ExecStart=")))
    for said in ("KillMode=mixed", "NoNewPrivileges=yes", "User=artificer"):
        assert f"\n{said}\n" in text
    program = shutil.which("systemd-analyze")
    if program is None:
        return  # what it says of names and sections, the lines above do not
    unit = tmp_path / "artificer-worker.service"
    unit.write_text(text.replace("/opt/artificer/bin/artificer", sys.executable), "utf-8")
    done = subprocess.run(
        [program, "verify", "--man=no", "--recursive-errors=no", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "artificer-worker.service" not in done.stderr, done.stderr
