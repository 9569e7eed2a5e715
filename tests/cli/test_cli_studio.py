"""``artificer studio``: the commands about tokens, and where it refuses to listen."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from cli_kit import Shell, lines_until

from artificer.cli.json_log import JsonLines
from artificer.cli.terminal.exits import Exit

pytestmark = pytest.mark.req("studio-tokens")


async def test_tokens_are_made_listed_replaced_and_revoked(shell: Shell) -> None:
    made = await shell.run("studio", "token", "new", "ci", "--scope", "read", "--scope", "approve")
    assert made.code == Exit.OK and made.out.startswith("artificer_")
    (listed,) = (await shell.run("studio", "token", "list", "--json")).json()
    assert listed["name"] == "ci" and listed["scopes"] == ["read", "approve"]
    assert "digest" not in listed
    fresh = await shell.run("studio", "token", "rotate", listed["id"])
    assert fresh.code == Exit.OK and fresh.out != made.out
    lines = (await shell.run("studio", "token", "list")).out.splitlines()
    assert len(lines) == 2 and "expired" in lines[0]
    assert (await shell.run("studio", "token", "revoke", listed["id"])).code == Exit.OK
    again = await shell.run("studio", "token", "revoke", listed["id"])
    assert again.code == Exit.OPERATOR and "There is no token" in again.err


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", ""])
async def test_a_name_that_would_deceive_is_refused(shell: Shell, name: str) -> None:
    assert (await shell.run("studio", "token", "new", name)).code == Exit.AUTHOR


@pytest.mark.req("studio-hosts")
async def test_others_are_not_let_in_without_a_token(shell: Shell) -> None:
    refused = await shell.run("studio", "--host", "192.0.2.7", "--no-open")
    assert refused.code == Exit.OPERATOR and "artificer studio token new" in refused.err


@pytest.mark.req("studio-access")
async def test_a_browser_is_started_with_a_key_that_works_once(
    shell: Shell, tmp_path: Path
) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    os.mkfifo(seen)
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}\n')
    browser.chmod(0o700)
    studio = await shell.start("studio", "--port", "0", env={"BROWSER": f"{browser} %s"})
    assert studio.stdout is not None
    printed = (await studio.stdout.readline()).decode().strip()
    opened = await asyncio.to_thread(seen.read_text)
    assert opened.partition("?")[0] == printed.partition("?")[0] and opened != printed
    async with httpx.AsyncClient(timeout=60) as client:
        answers = [(await client.get(url)).status_code for url in (opened, opened, printed)]
    studio.send_signal(signal.SIGTERM)
    await studio.wait()
    assert answers == [303, 401, 303]


@pytest.mark.req("studio-log")
async def test_its_log_is_json_lines_and_holds_no_key(shell: Shell) -> None:
    words = ("--port", "0", "--no-open", "--log-format", "json")
    studio = await shell.start("--verbose", "studio", *words)
    assert studio.stdout is not None and studio.stderr is not None
    opening = (await studio.stdout.readline()).decode().strip()
    address, key = opening.split("?key=")
    ready = json.loads(await studio.stderr.readline())
    assert (ready["message"], ready["level"]) == ("ready", "info")
    assert address.startswith(ready["address"]) and key not in json.dumps(ready)
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(b"\x00 no request\r\n\r\n")
    await reader.read()
    writer.close()
    warned = json.loads(await lines_until(studio.stderr, "Invalid HTTP request"))
    assert (warned["level"], warned["logger"]) == ("warning", "uvicorn.error")
    studio.send_signal(signal.SIGTERM)
    _, err = await studio.communicate()
    lines = [json.loads(line) for line in err.decode().splitlines()]
    assert lines[-1]["message"] == "stopped"


@pytest.mark.req("studio-log")
def test_a_line_has_where_a_program_failed() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.LogRecord("a", 40, "", 1, "failed %s", ("\x1b",), sys.exc_info())
    line = JsonLines().format(record)
    assert line.isascii() and "\n" not in line and "\x1b" not in line
    assert json.loads(line)["trace"].endswith("ValueError: two\nlines")
