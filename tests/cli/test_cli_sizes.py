"""The largest report, file and drawing, from the command line.

The server is a real one that writes as many tokens as it is asked for and no more, four characters
each; then it stops in the middle of a word, or of a call.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from cli_kit import Shell, text_of
from strict_rules import Refused
from strict_server import Calls, Says, StrictServer, Turn

from artificer.artifacts.deliverable import MAX_NARRATIVE
from artificer.artifacts.file import MAX_CONTENT
from artificer.artifacts.svg.kind import MAX_CONTENT as MAX_DRAWING

CHARS_A_TOKEN = 4


class Writer:
    """A model that writes its turns one after another, each as far as the limit lets it.

    A text that was cut goes on where it ended; a call that was cut is made again by ``again``.
    """

    def __init__(self, *turns: Turn, again: Callable[[int], Turn] | None = None) -> None:
        self.turns = list(turns)
        self.again = again
        self.limits: list[int] = []

    def __call__(self, body: dict[str, Any]) -> Turn:
        limit = next(body[name] for name in ("max_tokens", "max_output_tokens") if name in body)
        self.limits.append(limit)
        room = limit * CHARS_A_TOKEN
        turn = self.turns.pop(0)
        if isinstance(turn, Says) and len(turn.text) > room:
            self.turns.insert(0, Says(turn.text[room:]))
            return Says(turn.text[:room], cut=True)
        if isinstance(turn, Calls) and len(turn.calls[0][1]) > room:
            ((name, arguments),) = turn.calls
            if self.again is not None:
                self.turns.insert(0, self.again(room))
            return Calls((name, arguments[:room]), cut=True)
        return turn


def calls(tool: str, **arguments: object) -> Calls:
    return Calls((tool, json.dumps(arguments)))


LIST = calls("create_list", list={"kind": "list", "id": "a", "items": ["one"]})


def prose(length: int) -> str:
    """So many characters, no two sentences alike."""
    sentences: list[str] = []
    size = 0
    while size < length:
        sentences.append(f"Sentence {len(sentences)} says what was measured on that day. ")
        size += len(sentences[-1])
    return "".join(sentences)[: length - 1] + "."


def report(length: int, *cited: str) -> str:
    head = "# Measurements\n\n" + "\n\n".join(f"{{{{artifact:{name}}}}}" for name in cited) + "\n\n"
    return head + prose(length - len(head))


def drawing(length: int) -> str:
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000"><title>Grid</title>'
    rows: list[str] = []
    size = len(head) + len("</svg>")
    while size < length - 200:
        x, y = len(rows) % 32 * 30, len(rows) // 32 * 30
        points = " ".join(f"{x + n % 7},{y + n % 5}" for n in range(12))
        rows.append(f'<polyline points="{points}" fill="none" stroke="#0369a1"/>')
        size += len(rows[-1])
    pad = "x" * (length - size - len("<desc></desc>"))
    return f"{head}<desc>{pad}</desc>{''.join(rows)}</svg>"


@pytest.mark.req("seed-sizes")
def test_the_pieces_are_as_large_as_they_may_be() -> None:
    assert len(report(MAX_NARRATIVE, "list:a")) == MAX_NARRATIVE == 24_000
    assert len(drawing(MAX_DRAWING)) == MAX_DRAWING == 64_000
    assert MAX_CONTENT == 48_000


@pytest.mark.req("seed-sizes", "report-continued")
@pytest.mark.parametrize("protocol", ["anthropic", "openai", "openai-chat"])
async def test_the_longest_narrative_is_written_in_two_replies(shell: Shell, protocol: str) -> None:
    text = report(MAX_NARRATIVE, "list:a")
    writer = Writer(LIST, Says(text))
    async with StrictServer(answer=writer) as server:
        shell.configure(server.url)
        with (shell.cwd / "artificer.toml").open("a", encoding="utf-8") as settings:
            settings.write(f'protocol = "{protocol}"\n')
        result = await shell.run("run", "Write all of it", "--json")
        assert server.refused == []
    assert result.code == 0, result.err
    outcome = result.json()
    assert (outcome["status"], outcome["text"]) == ("completed", text)
    assert writer.limits == [4096] * 3, "nothing is known of this model"
    assert "requesting the rest" in result.err


@pytest.mark.req("seed-sizes", "report-continued")
async def test_a_low_limit_takes_more_replies_and_loses_nothing(shell: Shell) -> None:
    text = report(12_000, "list:a")
    writer = Writer(LIST, Says(text))
    async with StrictServer(answer=writer) as server:
        shell.configure(server.url)
        result = await shell.run("run", "Write", "--max-tokens", "500", "--json")
    assert result.json()["text"] == text and writer.limits == [500] * 7
    replayed = await shell.run("replay", "last")
    assert replayed.code == 0, replayed.err


@pytest.mark.req("seed-sizes")
@pytest.mark.parametrize("how", ["flag", "config", "table"])
async def test_the_largest_file_and_drawing_are_made(shell: Shell, how: str) -> None:
    content, picture = prose(MAX_CONTENT), drawing(MAX_DRAWING)
    writer = Writer(
        calls("create_file", name="all.md", content=content),
        calls("create_svg", svg={"id": "grid", "content": picture}),
        Says(report(MAX_NARRATIVE, "file:all.md", "svg:grid")),
    )
    words: tuple[str, ...] = ()
    async with StrictServer(answer=writer) as server:
        if how == "config":
            shell.configure(server.url, '[limits.models."double/m"]\nmax_tokens = 20_000\n')
        else:
            shell.configure(server.url)
        if how == "flag":
            words = ("--max-tokens", "20000")
        elif how == "table":
            words = ("--model", "double/claude-sonnet-4-5")
        result = await shell.run("run", "Write", "--json", *words)
        assert server.refused == []
    assert result.code == 0, result.err
    assert set(writer.limits) == {48_000 if how == "table" else 20_000}
    outcome = result.json()
    assert outcome["status"] == "completed" and len(outcome["text"]) == MAX_NARRATIVE
    (file,) = [path for path in outcome["files"]["artifacts"] if path.endswith("all.md")]
    assert text_of(file) == content
    assert any("/svg/grid." in path for path in outcome["files"]["artifacts"])


@pytest.mark.req("seed-sizes", "report-continued")
async def test_a_call_that_is_too_long_is_made_in_parts(shell: Shell) -> None:
    def half(room: int) -> Turn:
        return calls("create_file", name="half.md", content=prose(room - 100))

    whole = calls("create_file", name="all.md", content=prose(MAX_CONTENT))
    writer = Writer(whole, Says(report(1_000, "file:half.md")), again=half)
    async with StrictServer(answer=writer) as server:
        shell.configure(server.url)
        result = await shell.run("run", "Write", "--json")
        told = [m for m in server.seen[1].body["messages"] if m["role"] == "tool"]
    assert result.code == 0, result.err
    assert "limit of 4096 tokens" in told[0]["content"] and "divide" in told[0]["content"]


@pytest.mark.req("reply-limits")
async def test_a_server_that_refuses_the_limit_is_told_apart(shell: Shell) -> None:
    text = report(1_000, "list:a")
    writer = Writer(LIST, Says(text))

    def refusing(body: dict[str, Any]) -> Turn:
        if (asked := body["max_tokens"]) > 16_384:
            raise Refused(
                f"max_tokens is too large: {asked}. This model supports at most 16384 completion"
                f" tokens, whereas you provided {asked}."
            )
        return writer(body)

    async with StrictServer(answer=refusing) as server:
        shell.configure(server.url)
        result = await shell.run("run", "Write", "--max-tokens", "50000", "--json")
        explained = await shell.run("explain", "last")
        again = await shell.run("fork", "last", "--max-tokens", "16000", "--json")
    assert result.code == 5
    outcome = result.json()
    assert outcome["status"] == "failed"
    assert "[limits.models" in outcome["note"] and "--max-tokens" in outcome["note"]
    assert "as long as max_tokens" in result.err
    assert "--max-tokens" in explained.out
    assert again.json()["text"] == text, again.err


@pytest.mark.req("reply-limits")
async def test_a_budget_that_is_small_still_lets_a_run_begin(shell: Shell) -> None:
    writer = Writer(LIST, Says(report(2_000, "list:a")))
    async with StrictServer(answer=writer) as server:
        shell.configure(server.url, "[budget]\nper_day_tokens = 40_000\n")
        result = await shell.run("run", "Write", "--model", "double/claude-sonnet-4-5")
    assert result.code == 0, result.err
    assert set(writer.limits) == {5_000}
