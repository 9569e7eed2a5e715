"""The data of results, whichever backend they come from: exact, whole, without secrets."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import process_functions as functions
import pytest
from http_support import answer, serving
from pydantic import BaseModel

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.function.decorator import FunctionTool, tool
from artificer.backends.function.executor import FunctionExecutor
from artificer.backends.http.executor import HttpExecutor
from artificer.backends.loader import load_folder
from artificer.backends.mcp.connection import McpLink
from artificer.backends.mcp.executor import McpExecutor, discover
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.tools import McpContract
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from artificer.runtime.receipt_data import ReceiptData, data_of

pytestmark = pytest.mark.req("sources-backends")

NUMBERS = '{"rows": [{"n": 1.10, "big": 123456789012345678901234567890, "e": 1e3, "z": -0.0}]}'
EXACT = b'{"rows":[{"n":1.10,"big":123456789012345678901234567890,"e":1e3,"z":-0.0}]}'
SECRET = 's3cr3t-"value"-9'


def kept(receipt: Receipt) -> bytes | None:
    return data_of(receipt, "t#1", str).data


async def printed(folder: Path, text: str | bytes, output: str, **environment: str) -> Receipt:
    """The receipt of a program that prints a text."""
    (folder / "text").write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / "t.clad.toml").write_text(
        '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
        f'[command]\nexec = ["cat", "{folder / "text"}"]\n[output]\n{output}\n'
    )
    executor = CommandExecutor(load_folder(folder), cwd=folder, evidence=folder / "evidence")
    return await executor.execute(Call("run-1", "call-1", executor.tools[0], {}, "key-1"))


class TestCommands:
    @pytest.mark.parametrize(
        ("kind", "text", "expected"),
        [
            ("json", NUMBERS, EXACT),
            ("jsonl", '{"n": 1.10}\n\n{"n": 2}\n', b'[{"n":1.10},{"n":2}]'),
            ("csv", "zip,n\n00501,1.10\nx\n", b'[{"zip":"00501","n":"1.10"},{"zip":"x","n":null}]'),
            ("xml", "<r><n>1.10</n></r>", b'{"r":{"n":{"#text":"1.10"}}}'),
        ],
    )
    async def test_what_a_format_reads_is_data(
        self, tmp_path: Path, kind: str, text: str, expected: bytes
    ) -> None:
        assert kept(await printed(tmp_path, text, f'format = "{kind}"')) == expected

    async def test_plain_text_is_not_even_if_it_is_json(self, tmp_path: Path) -> None:
        assert kept(await printed(tmp_path, NUMBERS, 'format = "text"')) is None

    async def test_results_that_are_too_long_to_read_are_whole(self, tmp_path: Path) -> None:
        rows = [{"n": n, "what": "x" * 50} for n in range(2_000)]
        receipt = await printed(tmp_path, json.dumps(rows), 'format = "json"')
        assert len(receipt.content) < 50_000
        assert json.loads(kept(receipt) or b"") == rows

    @pytest.mark.parametrize(
        ("text", "kind", "status"),
        [
            ("a,a\n1,2\n", "csv", "error"),
            ("a\n1,2\n", "csv", "error"),
            ('{"n": NaN}', "json", "error"),
            ("[" * 100 + "]" * 100, "json", "ok"),
            ('{"a": 1, "a": 2}', "json", "ok"),
            (b"name,n\nM\xfcller,1\nM\xf6ller,2\n", "csv", "ok"),
            ('{"n": 1e999999}', "json", "ok"),
        ],
    )
    async def test_what_is_not_exact_is_not_data(
        self, tmp_path: Path, text: str | bytes, kind: str, status: str
    ) -> None:
        receipt = await printed(tmp_path, text, f'format = "{kind}"')
        found = data_of(receipt, "t#1", str)
        assert (receipt.status, found.data) == (status, None)
        assert found.line.startswith("\n[Data: t#1 cannot be bound: ") or status == "error"


class TestHttp:
    @staticmethod
    async def got(body: str | bytes, kind: str, output: str = "", status: int = 200) -> Receipt:
        with serving(answer(status, body, {"Content-Type": kind})) as server:
            text = (
                '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n'
                f'[http]\nurl = "{server.url}/"\nallow_private = true\n[output]\n{output}\n'
            )
            manifest: Any = parse_manifest(text, "t.clad.toml")
            executor = HttpExecutor([manifest])
            return await executor.execute(Call("r", "c", executor.tools[0], {}, "k"))

    @pytest.mark.parametrize(
        ("kind", "output"),
        [
            ("application/json", ""),
            ("application/hal+json; charset=utf-8", ""),
            ("text/plain", 'format = "json"'),
        ],
    )
    async def test_a_json_body_is_data(self, kind: str, output: str) -> None:
        assert kept(await self.got(NUMBERS, kind, output)) == EXACT

    async def test_another_body_is_not(self) -> None:
        assert kept(await self.got(NUMBERS, "text/html")) is None
        assert kept(await self.got(NUMBERS, "application/json", status=500)) is None
        found = data_of(await self.got("<p>", "application/json"), "t#1", str)
        assert found == ReceiptData(line="\n[Data: t#1 cannot be bound: it is not JSON]")


class TestMcp:
    STUB = (sys.executable, str(Path(__file__).with_name("mcp_stub.py")))

    async def called(self, name: str, **arguments: Any) -> Receipt:
        link = McpLink(McpServer("stub", command=self.STUB))
        try:
            executor = McpExecutor(link, await discover(link, McpContract(), None))
            definition = next(t for t in executor.tools if t.name == f"stub.{name}")
            return await executor.execute(Call("r", "c", definition, arguments, "k"))
        finally:
            await link.aclose()

    async def test_structured_content_is_data(self) -> None:
        assert kept(await self.called("add", a=1, b=2)) == b'{"sum":3}'

    async def test_a_text_that_says_the_same_has_the_exact_numbers(self) -> None:
        result = {
            "content": [{"type": "text", "text": '{"n": 1.10}'}],
            "structuredContent": {"n": 1.1},
        }
        line = json.dumps({"jsonrpc": "2.0", "id": "ID", "result": result})
        receipt = await self.called("raw", x=line.replace('"ID"', "ID"))
        assert kept(receipt) == b'{"n":1.10}'

    async def test_a_text_that_is_json_is_data(self) -> None:
        assert kept(await self.called("echo", x=NUMBERS)) == EXACT
        assert kept(await self.called("echo", x="[INFO] plain")) is None
        assert kept(await self.called("fail", x=NUMBERS)) is None


class Model(BaseModel):
    price: Decimal
    name: str


@dataclass
class Record:
    price: Decimal
    share: float


class Struct(msgspec.Struct):
    price: Decimal
    count: int


RESULTS: list[tuple[Any, bytes | None]] = [
    ({"z": {"b": 1, "a": [{"y": 2.0, "x": None}]}}, b'{"z":{"b":1,"a":[{"y":2,"x":null}]}}'),
    ({"a": 0.1, "b": [10**30, 1e22]}, b'{"a":0.1,"b":[1000000000000000000000000000000,1e+22]}'),
    (Model(price=Decimal("1.10"), name="x"), b'{"price":"1.10","name":"x"}'),
    ([Record(Decimal("1.10"), 0.5)], b'[{"price":"1.10","share":0.5}]'),
    ([Struct(Decimal("1.10"), 3)], b'[{"price":"1.10","count":3}]'),
    (Decimal("1.10"), b"1.10"),
    (17, b"17"),
    ('{"n": 1.10}', b'{"n":1.10}'),
    ("plain", None),
    ("[INFO] plain", None),
    (None, None),
    (True, None),
    ({"n": float("nan")}, None),
    ({"t": "\ud800"}, None),
]


class TestFunctions:
    @staticmethod
    async def returned(made: FunctionTool[..., Any], **arguments: Any) -> Receipt:
        call = Call("run-1", "call-1", made.definition, arguments, "key-1")
        return await FunctionExecutor([made]).execute(call)

    @pytest.mark.parametrize(("result", "expected"), RESULTS)
    async def test_what_a_function_returns_is_data(
        self, result: Any, expected: bytes | None
    ) -> None:
        @tool(effect="pure")
        async def give() -> Any:
            """Give."""
            return result

        assert kept(await self.returned(give)) == expected

    async def test_a_result_that_is_too_long_to_read_is_whole(self) -> None:
        rows = [{"n": n, "share": n / 7} for n in range(5_000)]

        @tool(effect="pure")
        def give(text: bool) -> Any:
            """Give."""
            return json.dumps(rows) if text else rows

        for text in (True, False):
            receipt = await self.returned(give, text=text)
            assert json.loads(receipt.content) == rows
            assert json.loads(kept(receipt) or b"") == rows

    async def test_a_process_returns_it_too(self) -> None:
        receipt = await self.returned(tool(effect="pure", isolation="process")(functions.rows))
        assert json.loads(kept(receipt) or b"") == functions.rows()


class TestSecrets:
    """As content is: whatever stands for the world's redactor takes the same words out."""

    @staticmethod
    def clean(text: str) -> str:
        return text.replace(SECRET, "[secret]").replace("424242", "[secret]")

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ({"key": SECRET, SECRET: 1}, b'{"key":"[secret]","[secret]":1}'),
            ([[SECRET]], b'[["[secret]"]]'),
            ({"n": 424242}, None),
            ({SECRET: 1, "[secret]": 2}, None),
        ],
    )
    def test_are_taken_out_of_data(self, value: Any, expected: bytes | None) -> None:
        receipt = Receipt(status="ok", content="Here.", data=json.dumps(value))
        found = data_of(receipt, "t#1", self.clean)
        assert found.data == expected
        if expected is None:
            assert "secret where none can be removed" in found.line
