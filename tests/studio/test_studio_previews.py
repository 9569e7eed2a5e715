"""The files of a conversation, however hostile, and exports that take long."""

from __future__ import annotations

import asyncio
import re
import threading
from functools import partial

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from revised import FILES, revised
from studio_kit import Studio

from artificer.errors import OperatorError
from artificer.studio.exports import Exports
from artificer.studio.previews import HEAD, AttachedFile, preview
from artificer.studio.views.attached import safe_name
from artificer.values.blocks import FileBlock


def block(name: str, media_type: str) -> AttachedFile:
    digest = f"sha256:{'0' * 64}"
    made = FileBlock(digest=digest, media_type=media_type, size=1, tokens=1, name=name)
    return AttachedFile(name, made)


@pytest.mark.req("studio-previews")
class TestPreviews:
    async def test_each_file_has_a_preview_and_is_saved(
        self, served: Studio, client: httpx.AsyncClient
    ) -> None:
        await revised(served.world)
        listed = (await client.get("/runs/r/artifacts")).text
        links = re.findall(r'<a href="(/runs/r/files/[^"]+)">([^<]+)</a>', listed)
        assert [name for _, name in links] == list(FILES)
        pages = {}
        for link, name in links:
            pages[name] = (await client.get(link)).text
            assert "<script>alert" not in pages[name]
            saved = await client.get(f"{link}/data")
            assert saved.content == FILES[name]
            assert saved.headers["content-security-policy"].startswith(
                "sandbox; default-src 'none';"
            )
            assert saved.headers["x-content-type-options"] == "nosniff"
            assert saved.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
            kind = "image/png" if name == "dot.png" else "application/octet-stream"
            assert saved.headers["content-type"] == kind
        assert 'data-plain="&#39;=cmd()"' in pages["people.csv"]
        assert "2550 44" not in pages["book.pdf"] and "25 50 44 46" in pages["book.pdf"]
        assert "/data" in pages["dot.png"].partition("<img ")[2].partition(">")[0]
        assert 'class="c-k">def' in pages["a.py"]

    async def test_only_files_of_the_run_are_sent(
        self, served: Studio, client: httpx.AsyncClient
    ) -> None:
        run = await revised(served.world)
        for digest in (run.state.deliverable, f"sha256:{'0' * 64}", "x", "sha256:%2e%2e"):
            assert (await client.get(f"/runs/r/files/{digest}")).status_code == 404
            assert (await client.get(f"/runs/r/files/{digest}/data")).status_code == 404

    @given(st.binary(max_size=300), st.sampled_from(["a.csv", "a.py", "a", "a.svg", "x.pdf"]))
    def test_any_bytes_have_a_preview(self, data: bytes, name: str) -> None:
        found = preview(block(name, "text/csv" if name == "a.csv" else "text/plain"), data, {})
        assert [found.grid, found.code, found.text].count(None) >= 2

    def test_large_files_are_cut(self) -> None:
        binary = preview(block("x", "application/zip"), b"\0" * 10_000, {})
        assert binary.cut == f"The first {HEAD} of 10,000 bytes."
        table = preview(block("x.csv", "text/csv"), b"a,b\n" + b"1,2\n" * 10_000, {})
        assert table.grid is not None and len(table.grid.rows) == 500 and table.cut
        wide = preview(block("x.csv", "text/csv"), b",".join([b"1"] * 1_000), {})
        assert wide.grid is not None and len(wide.grid.columns) == 30
        commas = preview(block("x.csv", "text/csv"), b"," * 30_000_000, {})
        assert commas.grid is not None and commas.cut
        text = preview(block("x.txt", "text/plain"), b"x" * 300_000, {})
        assert text.text is not None and len(text.text) == 100_000 and text.cut
        field = preview(block("x.csv", "text/csv"), b'a\n"' + b"x" * 200_000, {})
        assert field.text or field.grid

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("../../etc/passwd", "passwd"),
            ("a\\b\\c.txt", "c.txt"),
            ("\u202egnp.exe", "_gnp.exe"),
            ('x";filename=y', "x_;filename=y"),
            ("..", "file"),
            ("", "file"),
            ("a\r\nSet-Cookie: x", "a__Set-Cookie_ x"),
        ],
    )
    def test_a_name_of_a_file_has_no_folder_and_no_tricks(self, name: str, expected: str) -> None:
        assert safe_name(name) == expected


@pytest.mark.req("studio-files")
class TestExports:
    async def test_a_few_files_are_made_at_a_time_and_too_many_are_refused(self) -> None:
        exports, gate = Exports(limit=2, waiting=3), threading.Event()
        begun, under_way = threading.Semaphore(0), list[int]()

        def work(number: int) -> int:
            under_way.append(number)
            begun.release()
            gate.wait(60)
            return number

        tasks = [asyncio.create_task(exports.make(partial(work, n))) for n in range(3)]
        for _ in range(2):
            await asyncio.to_thread(begun.acquire)
        with pytest.raises(OperatorError, match="3 files are being made"):
            await exports.make(lambda: 9)
        tasks[0].cancel()
        assert len(under_way) == 2
        gate.set()
        assert await asyncio.gather(*tasks[1:]) == [1, 2]
        assert await exports.make(lambda: 9) == 9

    async def test_a_file_that_cannot_be_made_says_what_to_do(
        self, served: Studio, client: httpx.AsyncClient
    ) -> None:
        await revised(served.world)
        answer = await client.get("/runs/r/artifacts/table:cities/png")
        assert answer.status_code == 409 and "Choose one of: csv, xlsx, json" in answer.text
        assert answer.headers["content-type"].startswith("text/html")
