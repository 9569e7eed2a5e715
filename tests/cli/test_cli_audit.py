"""``artificer audit``: the lines, and that verify compares what the last one names."""

from __future__ import annotations

import hashlib
import json

import pytest
from cli_kit import Shell

from artificer import Agent, Policy, Rule, ScriptedProvider, World, load_config, tool
from artificer.cli.terminal.exits import Exit
from artificer.providers.scripted import call, reply, say

pytestmark = pytest.mark.req("audit-trail")


@tool(effect="once")
async def pay(name: str) -> str:
    """Pay somebody."""
    return "Paid."


async def waiting(shell: Shell) -> str:
    """A run that waits for a person, in the world of the shell."""
    agent = Agent(
        ScriptedProvider([reply(call("pay", name="Bo")), say("Done.")]),
        kind="chat",
        tools=[pay],
        policy=Policy(rules=(Rule(tool="pay", decision="ask"),)),
    )
    async with World.open(load_config(home=shell.home, project="test")) as world:
        run = await world.run("Pay Bo.", agent)
        assert run.status == "waiting"
    return run.id


async def test_the_lines_prove_themselves_and_verify_compares_the_last(shell: Shell) -> None:
    run = await waiting(shell)
    printed = await shell.run("audit")
    assert printed.code == Exit.OK, printed.err
    lines = printed.out.splitlines(keepends=True)
    entries = [json.loads(line) for line in lines]
    asked = next(entry for entry in entries if entry["what"] == "asked")
    assert asked["tool"] == "pay" and asked["run"] == run
    digest = hashlib.sha256("".join(lines[:-1]).encode()).hexdigest()
    assert entries[-1]["digest"] == f"sha256:{digest}"
    head = shell.cwd / "head.json"
    head.write_text(lines[-1], encoding="utf-8")
    same = await shell.run("verify", "--against", "head.json")
    assert same.code == Exit.OK and same.out.startswith("same")
    denied = await shell.run("approve", run, asked["call"], "--deny", "--reason", "too much")
    assert denied.code in (Exit.OK, Exit.WAITING), denied.err
    later = await shell.run("verify", "--against", "head.json")
    assert later.code == Exit.OK and later.out.startswith("extends")
    head.write_text(lines[-1].replace(entries[-1]["world"]["hash"], f"sha256:{'0' * 64}"))
    forged = await shell.run("verify", "--against", "head.json")
    assert forged.code == Exit.WRONG and "diverged" in forged.out


async def test_since_begins_later_and_must_be_a_time(shell: Shell) -> None:
    await waiting(shell)
    (end,) = (await shell.run("audit", "--since", "2999-01-01")).out.splitlines()
    assert json.loads(end)["count"] == 0
    assert (await shell.run("audit", "--since", "yesterday")).code == Exit.USAGE


async def test_without_a_world_there_is_an_end(shell: Shell) -> None:
    printed = await shell.run("audit")
    assert printed.code == Exit.OK and json.loads(printed.out)["count"] == 0


async def test_a_day_before_all_clocks_begin_is_a_day_like_any_other(shell: Shell) -> None:
    await waiting(shell)
    everything = await shell.run("audit")
    for day in ("1970-01-01", "1969-12-31", "0001-01-01"):
        assert await shell.run("audit", "--since", day) == everything
    for command in (("runs",), ("search", "Pay")):
        found = await shell.run(*command, "--since", "0001-01-01", "--json")
        assert found.code == Exit.OK and found.json(), found.err
    for day in ("1970-01-01", "0001-01-01"):
        assert (await shell.run("runs", "--until", day, "--json")).json() == []
