"""``doctor`` and ``local``: what can be known offline, and what only asking tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cli_kit import Shell
from strict_server import Says, StrictServer

SECRET = "sk-never-shown-0123456789"


@pytest.mark.req("doctor-backend-settings")
async def test_doctor_names_a_table_that_no_backend_reads(shell: Shell) -> None:
    (shell.cwd / "artificer.toml").write_text("[backends.comand]\nx = 1\n[backends.command]\n")
    result = await shell.run("doctor", "--json")
    found = {finding["what"]: finding for finding in result.json()}
    assert result.code == 0, "the package may be installed elsewhere"
    unread = found["settings backends.comand"]
    assert (unread["ok"], unread["hint"]) == (None, "Did you mean 'command'?")
    assert unread["detail"] == "no installed package reads this table"
    assert found["settings backends.command"]["detail"] == unread["detail"], "it has no settings"


@pytest.mark.req("cli-doctor")
async def test_doctor_asks_no_model_and_makes_nothing(shell: Shell) -> None:
    async with StrictServer() as server:
        shell.configure(server.url)
        result = await shell.run("doctor", "--json", env={"ANTHROPIC_API_KEY": SECRET})
        assert server.seen == []
    found = {finding["what"]: finding for finding in result.json()}
    assert result.code == 0
    assert found["artificer"]["ok"] is True
    assert found["provider anthropic"]["ok"] is True
    assert found["provider openai"]["ok"] is None
    assert found["provider double"]["detail"] == f"{server_url(shell)} answers: 1 model"
    assert found["default model"]["detail"] == "double/m"
    assert found["journal"]["detail"].startswith("none yet")
    assert found["provider local"]["hint"] == "artificer local fetch"
    assert SECRET not in result.out + result.err
    assert not shell.home.exists()


@pytest.mark.req("home-not-writable")
async def test_doctor_says_what_is_in_the_way_of_the_home(shell: Shell) -> None:
    """A file, and a link to a disk that is not there, where the home should be."""
    shell.configure("http://127.0.0.1:9")
    shell.home.write_text("")
    result = await shell.run("doctor", "--json")
    found = {finding["what"]: finding for finding in result.json()}["home"]
    assert (result.code, found["ok"]) == (1, False)
    assert found["detail"] == f"{shell.home}: {shell.home} is not a folder"
    shell.home.unlink()
    shell.home.symlink_to("nowhere")
    found = {f["what"]: f for f in (await shell.run("doctor", "--json")).json()}["home"]
    assert found["ok"] is False and "is a link that leads nowhere" in found["detail"]
    run = await shell.run("run", "Hello.")
    assert (run.code, f"{shell.home} is a link that leads nowhere" in run.err) == (3, True)
    token = await shell.run("studio", "token", "new", "ci")
    first = token.err.splitlines()[0]
    assert (token.code, first) == (3, f"error: {shell.home} is a link that leads nowhere")


@pytest.mark.req("cli-doctor-extras")
async def test_doctor_and_the_page_about_installing_name_every_extra(shell: Shell) -> None:
    (shell.cwd / "agents").mkdir()  # the name of an extra's module
    shell.configure("http://127.0.0.1:9")
    found = [f["what"] for f in (await shell.run("doctor", "--json")).json()]
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    page = (root / "docs/install.md").read_text("utf-8")
    for extra in extras["optional-dependencies"]:
        assert f"extra {extra}" in found and f"`{extra}`" in page, extra


def server_url(shell: Shell) -> str:
    return (shell.cwd / "artificer.toml").read_text("utf-8").split('base_url = "')[1].split('"')[0]


@pytest.mark.req("sandbox-doctor")
async def test_doctor_says_which_sandboxes_there_are_and_which_one_is_used(shell: Shell) -> None:
    shell.configure("http://127.0.0.1:9")
    found = {f["what"]: f for f in (await shell.run("doctor", "--json")).json()}
    assert found["sandbox"]["detail"] == "mode off: none"
    working = [n for n in ("bubblewrap", "landlock") if found[f"sandbox {n}"]["ok"]]
    shell.configure("http://127.0.0.1:9", '[sandbox]\nmode = "required"\nnetwork = true\n')
    result = await shell.run("doctor", "--json")
    sandbox = {f["what"]: f for f in result.json()}["sandbox"]
    assert sandbox["detail"] == f"mode required: {working[0] if working else 'none'}"
    assert sandbox["ok"] is bool(working)
    assert result.code == (0 if working else 1)


@pytest.mark.req("sandbox-doctor")
async def test_a_sandbox_that_is_missing_is_named_with_what_installs_it(shell: Shell) -> None:
    """On a path without bubblewrap; the interpreter is found by its own path."""
    shell.configure("http://127.0.0.1:9")
    result = await shell.run_process("doctor", "--json", env={"PATH": "/nowhere"})
    found = {f["what"]: f for f in result.json()}
    assert found["sandbox bubblewrap"]["ok"] is None
    assert found["sandbox bubblewrap"]["hint"] == "apt install bubblewrap"


@pytest.mark.req("cli-doctor-ask")
async def test_asked_models_answer_or_are_named(shell: Shell) -> None:
    async with StrictServer(Says("ready")) as server:
        shell.configure(server.url)
        result = await shell.run("doctor", "--ask", "--model", "openai/gpt-x")
    lines = {line.split()[2]: line for line in result.out.splitlines() if " model " in line}
    assert result.code == 1
    assert lines["double/m"].startswith("ok ")
    assert "answered 'ready' in" in lines["double/m"]
    assert lines["openai/gpt-x"].startswith("no ")
    assert "OPENAI_API_KEY" in lines["openai/gpt-x"]


@pytest.mark.req("cli-doctor")
async def test_a_provider_without_its_key_is_wrong(shell: Shell) -> None:
    extra = '[providers.acme]\nbase_url = "http://127.0.0.1:9"\napi_key_env = "ACME_KEY"\n'
    shell.configure("http://127.0.0.1:9", extra)
    result = await shell.run("doctor")
    assert result.code == 1
    assert "no  provider acme" in result.out
    assert "(export ACME_KEY=…)" in result.out
    assert (await shell.run("doctor", env={"ACME_KEY": SECRET})).code == 0


@pytest.mark.req("cli-doctor")
def test_a_model_and_a_key_are_nothing_without_their_extras(tmp_path: Path) -> None:
    gguf = tmp_path / "any.gguf"
    gguf.write_bytes(b"GGUF")
    (tmp_path / "artificer.toml").write_text(f'local_model = "{gguf}"\n', "utf-8")
    code = (
        "import sys; sys.modules['xllamacpp'] = sys.modules['openai'] = None; "
        "from artificer.cli.main import main; sys.argv = ['artificer', 'doctor', '--json']; main()"
    )
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "OPENAI_API_KEY": SECRET}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True
    )
    found = {finding["what"]: finding for finding in json.loads(done.stdout)}
    for what, extra in ("provider local", "local"), ("provider openai", "openai"):
        assert found[what]["ok"] is None
        assert found[what]["hint"] == f"pip install 'artificer[{extra}]'"


@pytest.mark.req("cli-local")
async def test_a_damaged_model_is_not_taken_for_the_model(shell: Shell) -> None:
    models = shell.home / "models"
    models.mkdir(parents=True)
    (models / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF, but another")
    result = await shell.run("local", "fetch")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("Checking SmolLM2-135M-Instruct.Q4_1.gguf …\nerror: ")
    assert "hint: " in result.err
