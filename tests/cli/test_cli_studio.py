"""``artificer studio``: the commands about tokens, and where it refuses to listen."""

from __future__ import annotations

import pytest
from cli_kit import Shell

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
