"""The fencing token of a call reaches its target, and one that rejects older ones is believed."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import process_functions as functions
import pytest
from http_support import Seen, answer, serving

from artificer import RunContext, tool
from artificer.backends.command.executor import CommandExecutor
from artificer.backends.function.executor import FunctionExecutor
from artificer.contracts.definition import toolset
from artificer.errors import Fenced, ManifestError, ToolDefinitionError
from artificer.manifests.model import Manifest, ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.ownership.local import LocalOwner
from artificer.ports import Call
from artificer.providers.scripted import call, reply, say
from artificer.testing.rig import Rig
from artificer.values.blocks import ToolResultBlock
from needs import require

pytestmark = pytest.mark.req("fencing-token")

HEAD = '[tool]\nname = "pay"\nversion = "1"\ndescription = "Pay."\n'


def a_call(executor: Any, token: int, **arguments: Any) -> Call:
    return Call("r", "c", executor.tools[0], arguments, "k" * 64, fencing_token=token)


def http_manifest(url: str, *, fenced: bool, effect: str = "once") -> Manifest[Any]:
    return parse_manifest(
        f'{HEAD}effect = "{effect}"\n[tool.probe]\nurl = "{url}/pay/{{_idempotency_key}}"\n'
        f"fenced = {str(fenced).lower()}\n[args.amount]\nrequired = true\n"
        f'[http]\nmethod = "POST"\nurl = "{url}/pay/{{_idempotency_key}}"\nallow_private = true\n'
        'body = { amount = "{amount}", token = "{_fencing_token}" }\n',
        "pay.clad.toml",
    )


@pytest.mark.parametrize("fenced", [True, False])
async def test_a_request_and_its_probe_carry_the_token(fenced: bool) -> None:
    require("httpcore2")
    from artificer.backends.http.executor import HttpExecutor

    with serving(answer(200)) as server:
        executor = HttpExecutor([http_manifest(server.url, fenced=fenced)])
        assert executor.tools[0].fenced is fenced
        await executor.execute(a_call(executor, 6, amount="5"))
        await executor.probe(a_call(executor, 7, amount="5"))
        made, asked = server.seen
    assert json.loads(made.body) == {"amount": "5", "token": 6}
    names = ("Idempotency-Key", "Fencing-Token")
    sent = [[seen.headers.get(name) for name in names] for seen in (made, asked)]
    key = "k" * 64
    assert sent == ([[key, "6"], [key, "7"]] if fenced else [[None, None]] * 2)


async def test_a_program_and_its_probe_find_the_token(tmp_path: Path) -> None:
    shown = "import os, sys; print(os.environ['ARTIFICER_FENCING_TOKEN'], *sys.argv[1:])"
    command = json.dumps([sys.executable, "-c", shown, "{_fencing_token}"])
    text = f"{HEAD}[tool.probe]\nfenced = true\nexec = {command}\n[command]\nexec = {command}\n"
    file = ManifestFile(parse_manifest(text, "pay.clad.toml"), str(tmp_path / "pay.clad.toml"))
    executor = CommandExecutor([file], cwd=tmp_path)
    assert executor.tools[0].fenced
    receipt = await executor.execute(a_call(executor, 6))
    assert json.loads(receipt.content)["stdout"] == "6 6\n"
    probed = await executor.probe(a_call(executor, 7))
    assert json.loads(probed.content)["stdout"] == "7 7\n"


async def test_a_function_and_its_probe_read_the_token() -> None:
    def find(ctx: RunContext[None]) -> str:
        return f"found {ctx.fencing_token}"

    @tool(probe=find, fenced=True)
    def pay(ctx: RunContext[None]) -> int:
        """Pay."""
        return ctx.fencing_token

    executor = FunctionExecutor([pay])
    assert (await executor.execute(a_call(executor, 6))).content == "6"
    assert (await executor.probe(a_call(executor, 7))).content == "found 7"
    apart = FunctionExecutor([functions.token_of])
    assert (await apart.execute(a_call(apart, 8))).content == "8"


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, "has no probe"),
        ({"probe": lambda ctx: True, "effect": "idempotent"}, "idempotent is just repeated"),
        ({"probe": lambda ctx: True, "effect": "pure"}, "pure is just repeated"),
    ],
)
def test_a_promise_that_helps_nobody_is_refused(options: dict[str, Any], fault: str) -> None:
    def pay(ctx: RunContext[None]) -> None:
        """Pay."""

    with pytest.raises(ToolDefinitionError, match=fault):
        tool(fenced=True, **options)(pay)


def test_a_function_that_is_not_given_the_token_cannot_be_fenced() -> None:
    def pay(amount: int) -> None:
        """Pay."""

    with pytest.raises(ToolDefinitionError, match="does not take the fencing token") as caught:
        tool(fenced=True, probe=lambda amount: True)(pay)
    assert "fencing_token" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("effect", "section", "call_headers", "fault"),
    [
        ("once", "headers = { fencing-token = '1' }", "", "tool.probe.headers"),
        ("once", "", "headers = { FENCING-TOKEN = '1' }", "http.headers"),
        ("idempotent", "", "", "is for 'once' and 'keyed'"),
        ("once", "fenced = 'yes'", "", "tool.probe.fenced"),
    ],
)
def test_a_manifest_that_could_not_keep_the_promise_is_refused(
    effect: str, section: str, call_headers: str, fault: str
) -> None:
    fenced = "" if "fenced" in section else "fenced = true\n"
    text = (
        f'{HEAD}effect = "{effect}"\n[tool.probe]\nurl = "http://h/"\n{fenced}{section}\n'
        f'[http]\nmethod = "POST"\nurl = "http://h/"\n{call_headers}\n'
    )
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text, "pay.clad.toml")
    assert fault in str(caught.value)


def test_the_promise_is_recorded_and_part_of_the_contract_and_its_absence_is_not_written() -> None:
    plain = functions.pay.definition
    fenced = plain.replace(fenced=True)
    assert "fenced" not in toolset((plain,)).to_text()
    assert '"fenced":true' in toolset((fenced,)).to_text()
    assert fenced.contract != plain.contract, "a run does not get it when it has begun"


# --- a former owner that is only out of reach ----------------------------------------------------


@dataclass
class Bank:
    """A server that keeps the highest token it has seen for each key, and rejects lower ones."""

    paid: list[tuple[str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    newest: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def respond(self, handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        with self.lock:
            answer(self.status_of(seen))(handler, seen)

    def status_of(self, seen: Seen) -> int:
        key, token = seen.target.rpartition("/")[2], seen.headers.get("Fencing-Token")
        if token is not None:
            assert seen.headers["Idempotency-Key"] == key
            if int(token) < self.newest.get(key, 0):
                self.refused.append(token)
                return 409
            self.newest[key] = int(token)
        if seen.method == "GET":
            return 200 if key in {paid for paid, _ in self.paid} else 404
        self.paid.append((key, str(json.loads(seen.body)["token"])))
        return 201


class ElsewhereOwner(LocalOwner):
    """An owner of which nobody here can find out whether it lives."""

    @property
    def id(self) -> str:
        return f"elsewhere:{super().id}"


@pytest.mark.parametrize("effect", ["once", "keyed"])
@pytest.mark.parametrize("fenced", [True, False])
async def test_absent_counts_where_the_target_rejects_a_former_owner(
    fenced: bool, effect: str
) -> None:
    """The former owner stands still just before its request, and goes on after the take-over."""
    require("httpcore2")
    from artificer.backends.http.executor import HttpExecutor

    bank, standing, go_on = Bank(), asyncio.Event(), asyncio.Event()
    rig = Rig(owner=ElsewhereOwner())
    with serving(bank.respond) as server:
        http = HttpExecutor([http_manifest(server.url, fenced=fenced, effect=effect)])

        async def pay(call: Call) -> Any:
            if call.fencing_token == 1:
                standing.set()
                await go_on.wait()
            return await http.execute(call)

        schema = http.tools[0].input_schema
        facts = {"effect": effect, "fenced": fenced, "schema": schema}
        rig.tools.add("pay", pay, prober=http.probe, **facts)
        zombie = asyncio.ensure_future(rig.run([reply(call("pay", amount="5"))]))
        await standing.wait()
        rig.owner = LocalOwner()
        state = await rig.resume([say("Done.")])
        assert (await rig.replay()).identical
        go_on.set()
        with pytest.raises(Fenced):
            await zombie
    blocks = [b for m in state.history for b in m.blocks if isinstance(b, ToolResultBlock)]
    tokens = [token for _, token in bank.paid]
    if fenced:
        assert ([b.status for b in blocks], tokens, bank.refused) == (["ok"], ["2"], ["1"])
    else:
        assert ([b.status for b in blocks], tokens, bank.refused) == (["ambiguous"], ["1"], [])
