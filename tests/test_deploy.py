"""The files of `deploy/`: each command is one that Artificer has, and nothing is open."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from artificer.cli.main import cli
from artificer.config import Config, load_config

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
            is_ours = name.startswith("./") and (DEPLOY / name).exists()
            assert is_ours or name.startswith("/") or name in compose["volumes"]
        for needed in service.get("depends_on", ()):
            assert needed in found
    return found


def own(services: dict[str, Any]) -> dict[str, Any]:
    return {name: service for name, service in services.items() if "build" in service}


def test_the_services_run_commands_that_there_are(services: dict[str, Any]) -> None:
    assert own(services).keys() == {"init", "worker", "studio"}
    for service in own(services).values():
        check(service["command"])
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert all("healthcheck" in services[name] for name in services if name != "init")
    assert services["temporal"]["profiles"] == ["temporal"]
    assert "${DISPATCHER:-local}" in services["worker"]["command"]


def test_only_who_makes_the_world_owns_it(services: dict[str, Any]) -> None:
    made = (DEPLOY / "roles.sh").read_text("utf-8")
    for name, service in own(services).items():
        role = "owner" if name == "init" else "worker"
        variables = service["environment"]
        assert variables["ARTIFICER_STORAGE"].startswith(f"postgresql://{role}@postgres/")
        assert variables["PGPASSWORD_FILE"] == f"/run/secrets/{role}_password"
        assert f"CREATE ROLE {role} LOGIN" in made and "SUPERUSER" not in made
    words = services["init"]["command"]
    assert services["init"]["environment"]["ARTIFICER_STORAGE"] in words
    assert words[words.index("--role") + 1] == "worker"


def test_nothing_is_reached_from_elsewhere_and_secrets_are_files(
    services: dict[str, Any],
) -> None:
    wrapper = (DEPLOY / "artificer.sh").read_text("utf-8")
    for name, service in services.items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        for variable, value in service.get("environment", {}).items():
            assert not variable.endswith(("PASSWORD", "SECRET", "SECRET_ACCESS_KEY", "API_KEY"))
            if variable.endswith("_FILE"):
                assert value.removeprefix("/run/secrets/") in service["secrets"]
                assert name == "postgres" or variable.removesuffix("_FILE") in wrapper
            if variable.startswith("ARTIFICER_"):
                assert variable.removeprefix("ARTIFICER_").lower() in Config.__struct_fields__


def copied(folder: Path, *names: str) -> None:
    for name in names:
        shutil.copy(DEPLOY / name, folder)


def test_each_secret_is_made_once_and_a_command_reads_it(
    services: dict[str, Any], tmp_path: Path
) -> None:
    copied(tmp_path, "make-secrets.sh", "artificer.sh", "roles.sh")
    for _ in range(2):
        subprocess.run(["sh", str(tmp_path / "make-secrets.sh")], check=True)
    folder = tmp_path / "secrets"
    assert folder.stat().st_mode & 0o777 == 0o700
    made = {path.name: path.read_text("ascii") for path in folder.iterdir()}
    wanted = {secret for service in services.values() for secret in service.get("secrets", ())}
    assert made.keys() == wanted
    assert len({*made.values()}) == len(made) and made.pop("anthropic_api_key") == ""
    assert all(len(secret) == 48 for secret in made.values())
    wrapper = (tmp_path / "artificer.sh").read_text("utf-8")
    environment = {"PATH": "/usr/bin:/bin", "PGPASSWORD_FILE": str(folder / "worker_password")}
    done = subprocess.run(
        ["sh", "-c", wrapper.replace("/opt/artificer/bin/artificer", "env"), "artificer"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"PGPASSWORD={made['worker_password']}" in done.stdout.splitlines()
    subprocess.run(["sh", "-n", str(tmp_path / "roles.sh")], check=True)


def test_the_settings_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARTIFICER_STORAGE", raising=False)
    assert load_config(DEPLOY).studio.hosts == ("localhost",)
    lines = (DEPLOY / "Dockerfile").read_text("utf-8").splitlines()
    assert "USER agent" in lines
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ")]
    paths = [path for words in copies for path in words if not path.startswith("--")]
    let_in = (DEPLOY.parent / ".dockerignore").read_text("utf-8").splitlines()
    for path in paths:
        assert (DEPLOY.parent / path).exists() and f"!{path.partition('/')[0]}" in let_in
    (extras,) = re.findall(r"/source\[([a-z0-9,]+)\]", "\n".join(lines))
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["optional-dependencies"].keys() >= {*extras.split(",")}


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
