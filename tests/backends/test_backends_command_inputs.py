"""Inputs of a command besides its arguments: variables, secrets, standard input, its folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from artificer import Agent, World
from artificer.backends.command.executor import CommandExecutor
from artificer.backends.loader import load_folder
from artificer.config import Config
from artificer.core.policy import Policy
from artificer.errors import ManifestError
from artificer.ports import Call, Receipt
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.storage.blobs.memory import MemoryStore

HEAD = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
SECRET = "ghp-0123456789/secret+value"
SHOW = (
    "import os, sys, json; "
    "print(json.dumps({'in': sys.stdin.read(), 'cwd': os.getcwd(), 'argv': sys.argv[1:],"
    " **{k: v for k, v in os.environ.items() if k.isupper()}}))"
)
EXEC = f"exec = {json.dumps([sys.executable, '-c', SHOW])}\n"
PROGRAM = f'[output]\nformat = "json"\n[command]\n{EXEC}'


def executor_of(folder: Path, text: str, **options: Any) -> CommandExecutor:
    (folder / "t.clad.toml").write_text(HEAD + text, encoding="utf-8")
    return CommandExecutor(load_folder(folder), cwd=folder, evidence=folder / "evidence", **options)


async def perform(executor: CommandExecutor, **arguments: Any) -> Receipt:
    return await executor.execute(Call("run-1", "call-1", executor.tools[0], arguments, "key-1"))


def shown_by(receipt: Receipt) -> dict[str, Any]:
    assert receipt.status == "ok", receipt.content
    results: dict[str, Any] = json.loads(receipt.content)["results"]
    return results


@pytest.mark.req("command-env")
async def test_variables_hold_values_and_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_GH", SECRET)
    monkeypatch.setenv("OUR_CONFIG", "/etc/our.conf")
    monkeypatch.setenv("NOT_OURS", "unseen")
    text = (
        PROGRAM
        + 'env.REGION = "eu-{zone}"\nenv.ABSENT = "{other}"\nenv.FIXED = "{{zone}}"\n'
        + 'env.GH_TOKEN = "x {_secret:gh}"\n'
        + 'env_pass = ["OUR_CONFIG", "NOT_SET_HERE"]\n[args.zone]\nrequired = true\n[args.other]\n'
    )
    executor = executor_of(tmp_path, text)
    receipt = await perform(executor, zone="west")
    found = shown_by(receipt)
    assert (found["REGION"], found["FIXED"]) == ("eu-west", "{zone}")
    assert found["OUR_CONFIG"] == "/etc/our.conf"
    assert found["GH_TOKEN"] == "x [secret gh]", "the program had it, and its output is redacted"
    assert not {"ABSENT", "NOT_OURS", "NOT_SET_HERE", "ARTIFICER_SECRET_GH"} & found.keys()
    assert SECRET not in receipt.content + (receipt.evidence or "")


@pytest.mark.req("command-env")
async def test_the_program_really_has_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_GH", SECRET)
    length = "import os, sys; print(len(os.environ['GH_TOKEN']), len(sys.stdin.read()))"
    text = (
        f'[command]\nexec = [{json.dumps(sys.executable)}, "-c", {json.dumps(length)}]\n'
        'env = { GH_TOKEN = "{_secret:gh}" }\nstdin = "{_secret:gh}\\n"\n'
    )
    receipt = await perform(executor_of(tmp_path, text))
    assert json.loads(receipt.content)["stdout"].split() == [str(len(SECRET)), str(len(SECRET) + 1)]


@pytest.mark.req("command-env")
async def test_a_secret_that_is_not_set_is_named_and_nothing_runs(tmp_path: Path) -> None:
    text = (
        f'[command]\nexec = ["touch", "{tmp_path}/made"]\nenv = {{ GH_TOKEN = "{{_secret:gh}}" }}\n'
    )
    receipt = await perform(executor_of(tmp_path, text))
    assert receipt.status == "error"
    assert "ARTIFICER_SECRET_GH is not set" in receipt.content
    assert not (tmp_path / "made").exists()


@pytest.mark.req("command-env")
async def test_what_was_passed_is_redacted_where_its_name_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    blobs = MemoryStore()
    loud = "import os; print(os.environ['DEPLOY_TOKEN'] * 3000)"
    text = (
        f'[command]\nexec = [{json.dumps(sys.executable)}, "-c", {json.dumps(loud)}]\n'
        'env_pass = ["DEPLOY_TOKEN"]\n'
    )
    receipt = await perform(executor_of(tmp_path, text, blobs=blobs))
    kept = b"".join(blobs.get(digest) for digest in blobs.digests())
    assert kept.count(b"[secret DEPLOY_TOKEN]") == 3000
    for place in (receipt.content, receipt.evidence or "", kept.decode()):
        assert SECRET not in place


@pytest.mark.req("command-env")
async def test_no_journal_of_a_run_holds_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_GH", SECRET)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "t.clad.toml").write_text(
        HEAD + PROGRAM + 'env = { GH_TOKEN = "{_secret:gh}" }\nstdin = "{_secret:gh}"\n',
        encoding="utf-8",
    )
    home = tmp_path / "home"
    config = Config(home=home, project="test", durability="process")
    model = ScriptedProvider([reply(call("t")), say("Done.")])
    agent = Agent(model=model, kind="chat", tools=[tools], policy=Policy())
    async with World.open(config) as world:
        run = await world.run("Go.", agent)
        assert run.status == "completed"
    found = [path for path in home.rglob("*") if path.is_file()]
    assert found
    for path in found:
        assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.req("command-stdin")
async def test_standard_input_is_a_text_or_an_argument(tmp_path: Path) -> None:
    executor = executor_of(
        tmp_path, PROGRAM + 'stdin = "{query};\\n"\n[args.query]\nmultiline = true\n'
    )
    for query in ("select 1", "$(id) `x` | cat > y", "x" * 30_000, "a\nb"):
        assert shown_by(await perform(executor, query=query))["in"] == f"{query};\n"
    assert shown_by(await perform(executor))["in"] == "", (
        "the argument is absent, and so is the text"
    )


@pytest.mark.req("command-cwd")
async def test_a_call_runs_in_the_folder_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "a.txt").write_text("a")
    (tmp_path / "out").symlink_to("/")
    executor = executor_of(tmp_path, PROGRAM + 'cwd = "{place}"\n[args.place]\ntype = "path"\n')
    assert shown_by(await perform(executor, place="sub"))["cwd"] == str(tmp_path / "sub")
    assert shown_by(await perform(executor))["cwd"] == str(tmp_path)
    for place, why in (
        ("gone", "is not there"),
        ("sub/a.txt", "is not a folder"),
        ("out", "leads"),
    ):
        receipt = await perform(executor, place=place)
        assert receipt.status == "invalid"
        assert why in receipt.content
    fixed = executor_of(tmp_path, PROGRAM + 'cwd = "sub/deep"\n')
    assert shown_by(await perform(fixed))["cwd"] == str(tmp_path / "sub" / "deep")


@pytest.mark.req("command-cwd")
async def test_other_paths_are_held_in_the_folder_of_the_call(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("inner")
    (tmp_path / "a.txt").write_text("outer")
    (tmp_path / "sub" / "up").symlink_to("..")
    text = (
        '[command]\nexec = ["cat", "{file}"]\ncwd = "{place}"\n'
        '[args.place]\ntype = "path"\nrequired = true\n'
        '[args.file]\ntype = "path"\nrequired = true\n'
    )
    executor = executor_of(tmp_path, text)
    inner = await perform(executor, place="sub", file="a.txt")
    assert json.loads(inner.content)["stdout"] == "inner"
    out = await perform(executor, place="sub", file="up/a.txt")
    assert (out.status, "leads out" in out.content) == ("invalid", True)


@pytest.mark.req("command-env")
def test_a_dry_run_shows_the_names_of_secrets_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_GH", SECRET)
    inputs = 'env.GH_TOKEN = "{_secret:gh}"\nenv_pass = ["KUBECONFIG"]\nstdin = "pw {_secret:gh}"\n'
    executor = executor_of(tmp_path, PROGRAM + inputs)
    shown = executor.preview(Call("run-1", "call-1", executor.tools[0], {}, "key-1")).effect
    assert shown["env"] == {"GH_TOKEN": "[secret gh]"}
    assert (shown["env_pass"], shown["stdin"]) == (["KUBECONFIG"], "pw [secret gh]")


FAULTS = [
    ('env = { "A B" = "x" }', "env.A B", "is not the name of a variable"),
    ('env = { ARTIFICER_X = "x" }', "env.ARTIFICER_X", "is set by Artificer"),
    ('env = { X = "{nobody}" }', "env.X", "{nobody} is not an argument"),
    ('env = { LD_PRELOAD = "{word}" }', "env.LD_PRELOAD", "no argument may choose it"),
    ('env = { X = "{many}" }', "env.X", "{many} is a list"),
    ('env = { X = "a{file}" }', "env.X", "joins other text to the path"),
    ("env = { X = 1 }", "env.X", "string"),
    ('env_pass = ["TOOLCLAD_SECRET_X"]', "env_pass", "is set by Artificer"),
    ('env_pass = "HOME"', "env_pass", ""),
    ('env = { X = "1" }\nenv_pass = ["X"]', "env_pass", "is also in env"),
    ('stdin = "{nobody}"', "stdin", "{nobody} is not an argument"),
    ('cwd = "/tmp"', "cwd", "must be a relative path"),
    ('cwd = "a/../.."', "cwd", "must be a relative path"),
    ('cwd = "x{file}"', "cwd", "must be one argument"),
    ('cwd = "{word}"', "cwd", "must be one value of the type 'path'"),
    ('cwd = "{_secret:x}"', "cwd", "must be one argument"),
]


@pytest.mark.req("command-inputs-checked")
@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(("inputs", "key", "why"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_wrong_input_is_a_fault_of_the_manifest(
    tmp_path: Path, inputs: str, key: str, why: str, compat: bool
) -> None:
    arguments = '[args.word]\n[args.many]\nlist = true\n[args.file]\ntype = "path"\n'
    command = '[command]\nexec = ["echo", ["{word}"], ["{many}"], ["{file}"]]\n'
    (tmp_path / "t.clad.toml").write_text(
        HEAD + arguments + command + inputs + "\n", encoding="utf-8"
    )
    with pytest.raises(ManifestError) as caught:
        load_folder(tmp_path, compat=compat)
    assert f"command.{key}" in caught.value.message
    assert why in caught.value.message


@pytest.mark.req("command-inputs-checked")
@pytest.mark.parametrize(
    "form", ['exec = ["gh", "--token={_secret:gh}"]', 'template = "gh {_secret:gh}"']
)
def test_no_secret_is_put_into_a_command_line(tmp_path: Path, form: str) -> None:
    (tmp_path / "t.clad.toml").write_text(HEAD + f"[command]\n{form}\n", encoding="utf-8")
    for compat in (False, True):
        with pytest.raises(ManifestError, match="every process could read there"):
            load_folder(tmp_path, compat=compat)


@pytest.mark.req("command-env")
async def test_an_executor_gets_the_same_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_GH", SECRET)
    program = tmp_path / "show"
    program.write_text(f"#!{sys.executable}\n{SHOW}\n", encoding="utf-8")
    program.chmod(0o700)
    (tmp_path / "sub").mkdir()
    text = (
        '[output]\nformat = "json"\n[args.word]\nrequired = true\n[command]\nexecutor = "./show"\n'
        'env = { GH_TOKEN = "{_secret:gh}" }\nstdin = "{word}"\ncwd = "sub"\n'
    )
    found = shown_by(await perform(executor_of(tmp_path, text), word="hello"))
    assert (found["in"], found["TOOLCLAD_ARG_WORD"]) == ("hello", "hello")
    assert (found["cwd"], found["GH_TOKEN"]) == (str(tmp_path / "sub"), "[secret gh]")
