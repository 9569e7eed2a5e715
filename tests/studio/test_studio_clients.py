"""Hostile clients over a bare socket: tricks in paths, and bodies that never end."""

from __future__ import annotations

import asyncio

import pytest
from studio_kit import Studio

pytestmark = pytest.mark.req("studio-access")

PATHS = (
    "/static/../app.py",
    "/static/%2e%2e/app.py",
    "/static/..%2fapp.py",
    "/static/..%5capp.py",
    "/static//etc/passwd",
    "/static/%00",
    "/static/1/../../app.py",
    "/static/1/..%2fapp.py",
    "/static/1/%00",
    "//evil.example/static/../../app.py",
    "/runs/..%2f..%2fetc%2fpasswd",
    "/runs/%00/records",
    "/runs/" + "x" * 5_000,
    "/runs/x/records/" + "9" * 5_000,
    "/runs/%ff%fe",
)


async def asked(studio: Studio, head: str) -> bytes:
    """Send the head of a request and nothing more; return what is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", studio.port)
    writer.write(f"{head}\r\nHost: 127.0.0.1:{studio.port}\r\n\r\n".encode())
    try:
        return await reader.readuntil(b"\r\n\r\n") + await reader.read(4_000)
    finally:
        writer.close()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:30])
@pytest.mark.parametrize("is_known", [True, False])
async def test_no_path_leads_out(served: Studio, path: str, is_known: bool) -> None:
    name = f"artificer_studio_{served.port}"
    cookie = f"\r\nCookie: {name}={served.access.open(served.key)}" if is_known else ""
    answer = await asked(served, f"GET {path} HTTP/1.1\r\nConnection: close{cookie}")
    assert answer.split()[1] in (b"400", b"401", b"404")
    assert b"Starlette" not in answer and b"root:" not in answer and b"Traceback" not in answer


async def test_who_is_unknown_is_answered_before_a_body_comes(served: Studio) -> None:
    heads = [
        f"POST /runs HTTP/1.1\r\nConnection: close\r\nContent-Length: {size}" for size in (9, 10**9)
    ]
    answers = await asyncio.gather(*(asked(served, head) for head in heads * 20))
    assert {answer.split()[1] for answer in answers} == {b"401", b"413"}
