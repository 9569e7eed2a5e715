"""A budget for the day, as its user meets it: real processes, a real server, one journal."""

from __future__ import annotations

import asyncio
import signal

import pytest
from cli_kit import Shell, finish, until
from strict_server import Hangs, Says, StrictServer

PRICE = '[prices."double/m"]\ninput = 1_000\noutput = 1_000\n'

pytestmark = pytest.mark.req("cli-budget")


async def test_a_run_waits_for_tomorrow_or_more_money(shell: Shell) -> None:
    async with StrictServer(Says("One."), Says("Two.")) as server:
        shell.configure(server.url, f"[budget]\nper_day_dollars = 10\n{PRICE}")
        first = await shell.run("run", "--kind", "chat", "Say one.")
        assert (first.code, first.out) == (0, "One.\n"), first.err
        shell.configure(server.url, f"[budget]\nper_day_dollars = 0.02\n{PRICE}")
        second = await shell.run("run", "--kind", "chat", "Say two.")
        assert second.code == 6, second.err
        assert "the budget is used up" in second.err
        assert "Of $0.0200 for a day $0.0150 are spent and $0.0000 reserved" in second.err
        assert "artificer resume" in second.err and "[budget]" in second.err
        explained = await shell.run("explain", "last")
        assert "budget is used up" in explained.out
        left = (await shell.run("budget", "--json")).json()
        assert left["limit"] == {"tokens": None, "micros": 20_000}
        assert left["spent"]["settled"] == {"tokens": 15, "micros": 15_000}
        shell.configure(server.url, f"[budget]\nper_day_dollars = 20\n{PRICE}")
        resumed = await shell.run("resume", "last")
        assert (resumed.code, resumed.out) == (0, "Two.\n"), resumed.err
        told = await shell.run("budget")
        assert "$0.0300 spent, $19.9700 left of $20.0000" in told.out
        assert len(server.seen) == 2, "what does not fit is not sent"


async def test_without_a_budget_the_day_is_counted_all_the_same(shell: Shell) -> None:
    """So that one that is set at noon holds for the whole day."""
    async with StrictServer(Says("One.")) as server:
        shell.configure(server.url)
        assert (await shell.run("run", "--kind", "chat", "Say one.")).code == 0
        told = await shell.run("budget")
        assert "none: set [budget]" in told.out and "tokens   15 spent" in told.out
        shell.configure(server.url, "[budget]\nper_day_tokens = 4_105\n")
        refused = await shell.run("run", "--kind", "chat", "Say two.")
    assert refused.code == 6 and "15 tokens are spent" in refused.err


async def test_a_budget_in_dollars_takes_a_price(shell: Shell) -> None:
    async with StrictServer() as server:
        shell.configure(server.url, "[budget]\nper_day_dollars = 1\n")
        refused = await shell.run("run", "--kind", "chat", "Hi.")
    assert refused.code != 0 and "price of 'double/m' is not known" in refused.err
    assert (await shell.run("runs", "--json")).out.strip() in ("[]", "")


async def test_runs_are_given_the_limits_of_the_project(shell: Shell) -> None:
    async with StrictServer(Says("One.")) as server:
        shell.configure(server.url, "[budget]\nper_run_tokens = 20\n")
        stopped = await shell.run("run", "--kind", "chat", "--json", "Say one.")
    assert stopped.json()["reason"] == "token_limit"
    assert server.seen == []


async def test_processes_at_the_same_time_cannot_spend_the_same_dollar(shell: Shell) -> None:
    async with StrictServer(Hangs("Well"), Says("Here.")) as server:
        shell.configure(server.url, "[budget]\nper_day_tokens = 6_000\n")
        words = ("run", "--kind", "chat", "Think.")
        processes = [await shell.start(*words) for _ in range(3)]
        running = {asyncio.ensure_future(finish(process)): process for process in processes}
        pending = set(running)
        while len(pending) > 1:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                assert task.result().code == 6, task.result().err
                assert "0 tokens are spent" in task.result().err
        await until(lambda: bool(server.seen))
        spent = (await shell.run("budget", "--json")).json()["spent"]
        assert spent["settled"]["tokens"] == 0 and 4_096 < spent["reserved"]["tokens"] <= 6_000
        (last,) = pending
        running[last].send_signal(signal.SIGINT)
        assert (await last).code == 130
        spent = (await shell.run("budget", "--json")).json()["spent"]
        assert spent["reserved"]["tokens"] > 4_096, "nobody knows what it has cost"
        waiting = await shell.run("resume", "last")
        assert waiting.code == 6, "not even the run itself gets it twice"
        assert len(server.seen) == 1
        shell.configure(server.url, "[budget]\nper_day_tokens = 20_000\n")
        assert (await shell.run("resume", "last")).out == "Here.\n"


@pytest.mark.req("budget-correction")
async def test_a_day_that_a_wrong_report_locked_is_put_right(shell: Shell) -> None:
    async with StrictServer(Says("Two.")) as server:
        shell.configure(server.url, "[budget]\nper_day_tokens = 100_000\n")
        wrong = await shell.run("budget", "--set-tokens", "99999", "--reason", "A wrong report.")
        assert wrong.code == 0, wrong.err
        locked = await shell.run("run", "--kind", "chat", "Say two.")
        assert locked.code == 6, locked.err
        unsaid = await shell.run("budget", "--set-tokens", "0")
        assert unsaid.code == 2 and "--reason" in unsaid.err
        corrected = await shell.run("budget", "--set-tokens", "0", "--reason", "They said so.")
        assert corrected.code == 0 and "tokens   0 spent" in corrected.out, corrected.err
        assert (await shell.run("resume", "last")).out == "Two.\n"
    other = await shell.run(
        *("budget", "--set-tokens", "7", "--set-dollars", "0.5", "--day", "2026-01-31"),
        *("--reason", "The invoice.", "--json"),
    )
    assert other.json() == {"day": "2026-01-31", "settled": {"tokens": 7, "micros": 500_000}}
    verified = await shell.run("verify")
    assert verified.code == 0, verified.err + verified.out
