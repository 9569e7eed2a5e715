"""At a terminal there are colours, a live line and questions; in a pipe there are none."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from unicodedata import category

import pytest
from cli_kit import Result, Shell, Terminal, finish
from strict_server import Hangs, Says, StrictServer
from test_cli_run import CHART, CITES_CHART, MAKES_CHART

from artificer.cli.terminal.console import clean
from artificer.studio.words import visible

SHOUT = Says("\x1b]0;owned\x07\x1b[31mred\x1b[0m \x9b2J \u202egnirts\nsecond line")


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    screen = Terminal()
    yield screen
    screen.close()


async def at_terminal(shell: Shell, terminal: Terminal, *words: str, **env: str) -> Result:
    """Run with stdin and stderr at the terminal and stdout in a pipe."""
    return await finish(await start_at(shell, terminal, *words, **env))


async def start_at(
    shell: Shell, terminal: Terminal, *words: str, **env: str
) -> asyncio.subprocess.Process:
    settings = {"TERM": "xterm-256color", "COLUMNS": "100", **env}
    side = terminal.slave
    return await shell.start(*words, env=settings, stdin=side, stderr=side)


@pytest.mark.req("cli-terminal")
async def test_a_terminal_shows_colours_and_what_is_forming(
    shell: Shell, terminal: Terminal
) -> None:
    async with StrictServer(MAKES_CHART, CITES_CHART) as server:
        shell.configure(server.url)
        result = await at_terminal(shell, terminal, "run", "Compare")
    assert result.code == 0
    assert "\x1b" not in result.out
    assert "\x1b[32mcompleted" in terminal.seen
    assert terminal.seen.count("\x1b[?25l") == terminal.seen.count("\x1b[?25h") > 0


@pytest.mark.req("cli-terminal")
async def test_ctrl_c_at_a_terminal_brings_the_cursor_back(
    shell: Shell, terminal: Terminal
) -> None:
    async with StrictServer(Hangs("Well, I am")) as server:
        shell.configure(server.url)
        process = await start_at(shell, terminal, "run", "Compare")
        await terminal.until("the model answers.*Well, I")  # a last word may begin a secret
        process.send_signal(2)
        result = await finish(process)
    assert result.code == 130
    await terminal.until("interrupted; resume with: artificer resume")
    assert terminal.seen.rindex("\x1b[?25h") > terminal.seen.rindex("\x1b[?25l")


@pytest.mark.req("cli-plain")
async def test_no_color_is_obeyed(shell: Shell, terminal: Terminal) -> None:
    async with StrictServer(MAKES_CHART, CITES_CHART) as server:
        shell.configure(server.url)
        await at_terminal(shell, terminal, "run", "Compare", NO_COLOR="1")
    assert "completed · 2 turns" in terminal.seen
    assert "\x1b" not in terminal.seen, "no colour, no live line, no hidden cursor"


@pytest.mark.req("cli-plain")
async def test_a_pipe_gets_plain_text(shell: Shell) -> None:
    async with StrictServer(MAKES_CHART, CITES_CHART) as server:
        shell.configure(server.url)
        results = [await shell.run("run", "Compare")]
    commands = ["runs"], ["show", "last"], ["replay", "last"], ["verify"], ["doctor"]
    results += [await shell.run(*words) for words in commands]
    for result in results:
        assert "\x1b" not in result.out + result.err
        assert "Traceback" not in result.err


@pytest.mark.req("cli-hostile-text")
async def test_what_a_model_writes_cannot_drive_the_terminal(
    shell: Shell, terminal: Terminal
) -> None:
    async with StrictServer(SHOUT) as server:
        shell.configure(server.url)
        result = await shell.run("run", "--kind", "chat", "Shout")
    shown = "\\x1b]0;owned\\x07\\x1b[31mred\\x1b[0m \\x9b2J \\x202egnirts\nsecond line\n"
    assert result.out == shown
    shown_again = await shell.run("show", "last")
    assert "\x1b" not in shown_again.out
    assert (await shell.run("show", "last", "--json")).json()["status"] == "completed"


@pytest.mark.req("cli-json-text")
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
async def test_json_with_characters_that_nobody_sees_parses(shell: Shell, encoding: str) -> None:
    """A zero-width space, an invisible letter of a plane above, a DEL, and one that is seen."""
    name = "Zo\u200bë \U000e0041 \x7f"
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    (shell.cwd / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    said = json.dumps({"name": name}, ensure_ascii=False, indent=1).replace("\n", "\r\n")
    env = {"PYTHONIOENCODING": encoding}
    async with StrictServer(Says(said)) as server:
        shell.configure(server.url)
        done = await shell.run_process("run", "--schema", "s.json", "Who?", env=env)
    assert json.loads(done.out) == {"name": name}
    shown = await shell.run_process("show", "last", "--raw", env=env)
    records = [json.loads(line) for line in shown.out.splitlines()]
    assert said in [r["event"]["narrative"] for r in records if "narrative" in r.get("event", {})]
    assert not {"\u200b", "\U000e0041", "\x7f"} & set(done.out + shown.out)


@pytest.mark.req("cli-hostile-text")
def test_a_character_that_the_studio_numbers_is_numbered_by_the_terminal() -> None:
    characters = [chr(number) for number in range(sys.maxunicode + 1)]
    unseen = {one for one in characters if visible(one) != one}
    assert unseen == {one for one in characters if clean(one) != one}
    kinds = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
    assert {one for one in characters if category(one) in kinds} - unseen == {"\t", "\n"}
    assert {"\u200b", "\u2028", "\ufeff", "\U000e0041", "\u3164", "\u2800", "\ufe0f"} <= unseen


@pytest.mark.req("cli-hostile-text")
def test_an_emoji_and_the_words_of_other_scripts_are_shown_as_they_are() -> None:
    seen = (
        "\N{MAN}\u200d\N{WOMAN} \N{HEAVY BLACK HEART}\ufe0f\u200d\N{FIRE} 1\ufe0f\u20e3",
        "\t\n caf\xe9",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200c\u0937",
        "\u0645 \u0915\u094d\u200d\u0937 \uac00 \u65e5\u672c",
    )
    assert [clean(text) for text in seen] == [visible(text) for text in seen] == [*seen]


@pytest.mark.req("cli-hostile-text")
@pytest.mark.parametrize(
    "hidden", ["\u3164", "\uffa0", "\u034f", "\ufe0f", "\u200c", "\u200d", "\U000e0101"]
)
def test_nothing_hides_between_two_letters(hidden: str) -> None:
    assert len(clean(f"a{hidden}b")) > 6
    assert visible(f"a{hidden}b") == f"a\u27e8U+{ord(hidden):04X}\u27e9b"


@pytest.mark.req("cli-approval")
@pytest.mark.parametrize(("answer", "word"), [("y", " ok "), ("", "not approved"), ("ye", "not")])
async def test_a_person_sees_the_exact_call_and_decides(
    shell: Shell, terminal: Terminal, answer: str, word: str
) -> None:
    policy = '[policy]\n[[policy.rules]]\ndecision = "ask"\nreason = "charts are dear"\n'
    said = CITES_CHART if answer == "y" else Says("Done as well as I could.")
    async with StrictServer(MAKES_CHART, said) as server:
        shell.configure(server.url, policy)
        process = await start_at(shell, terminal, "run", "Compare", NO_COLOR="1")
        await terminal.until(r"\[y/N\]")
        for part in ("create_bar_chart", "charts are dear", "sha256:", json.dumps(CHART["labels"])):
            assert part.replace('", "', '","') in terminal.seen
        terminal.type(f"{answer}\n")
        result = await finish(process)
        assert server.refused == []
    assert result.code == 0
    assert word in terminal.seen
    shown = await shell.run("show", "last")
    assert "ApprovalAnswered" in shown.out


@pytest.mark.req("cli-approval")
async def test_ctrl_c_at_a_question_leaves_it_open(shell: Shell, terminal: Terminal) -> None:
    async with StrictServer(MAKES_CHART, Says("Done without a chart.")) as server:
        shell.configure(server.url, '[policy]\ndefault = "ask"\n')
        process = await start_at(shell, terminal, "run", "Compare")
        await terminal.until(r"\[y/N\]")
        process.send_signal(2)
        assert (await finish(process)).code == 130
        done = await shell.run("resume", "last", "--unattended")
        assert server.refused == []
    assert done.code == 0
    assert "not approved" in done.err


@pytest.mark.req("cli-progress-upkeep")
@pytest.mark.parametrize(
    ("words", "step"),
    [
        (["verify"], "verifying blobs"),
        (["fsck"], "(verifying|searching) "),
        (["gc", "--dry-run"], "searching runs"),
    ],
)
async def test_long_work_over_a_world_shows_how_far_it_is(
    shell: Shell, terminal: Terminal, words: list[str], step: str
) -> None:
    async with StrictServer(MAKES_CHART, CITES_CHART) as server:
        shell.configure(server.url)
        assert (await shell.run("run", "Compare")).code == 0
    result = await at_terminal(shell, terminal, *words)
    assert result.code == 0
    await terminal.until(f"{step}.*  [0-9,]+")
