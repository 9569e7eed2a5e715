"""The processes of ``bench/serve.py``: a model over HTTP, and web services that stream its text.

    python bench/serving.py model PAUSE_MS | artificer | pydantic_ai

Each prints its port when it listens. The model is one of Chat Completions, which streams a text of
40 pieces with a pause before each. A service answers ``/ask`` with that text as it comes, and
``/cpu`` with the seconds that its process has spent on a processor.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

PIECES = 40
PIECE = "Air scatters blue light. "
PROMPT = "Why is the sky blue?"

Ask = Callable[[Any], AsyncIterator[str]]


def _chunks() -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        names = {"object": "chat.completion.chunk", "model": "gpt-4o", "created": 1}
        return {"id": "chatcmpl-1", **names, "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"content": PIECE}) for _ in range(PIECES))
    yield chunk({}, "stop")
    usage = {"prompt_tokens": 10, "completion_tokens": PIECES, "total_tokens": PIECES + 10}
    yield {**chunk({}), "choices": [], "usage": usage}


def _frames() -> list[bytes]:
    events = [*(json.dumps(chunk) for chunk in _chunks()), "[DONE]"]
    data = [f"data: {event}\n\n".encode() for event in events]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    return [
        head + b"Transfer-Encoding: chunked\r\n\r\n",
        *(b"%x\r\n%s\r\n" % (len(frame), frame) for frame in data),
        b"0\r\n\r\n",
    ]


async def model(pause: float) -> None:
    """Answer every request with the same stream; connections are kept."""
    frames = _frames()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
                for frame in frames:
                    writer.write(frame)
                    await asyncio.sleep(pause)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def service(ask: Ask, lifespan: Any = None) -> None:
    """Serve ``ask`` with FastAPI and uvicorn."""
    import uvicorn
    from fastapi import FastAPI, Request
    from fastapi.responses import StreamingResponse

    app = FastAPI(lifespan=lifespan)

    async def answer(request: Request) -> StreamingResponse:
        return StreamingResponse(ask(request), media_type="text/plain")

    async def cpu() -> float:
        return time.process_time()

    answer.__annotations__ = {"request": Request}
    app.add_api_route("/ask", answer, response_class=StreamingResponse)
    app.add_api_route("/cpu", cpu)
    listening = socket.create_server(("127.0.0.1", 0), backlog=1_000)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


def artificer() -> None:
    """The service of this library: each run is in a journal on the disk."""
    from artificer import Agent, lifespan

    agent = Agent("openai-chat/gpt-4o", kind="chat")

    async def ask(request: Any) -> AsyncIterator[str]:
        async with agent.stream(PROMPT, world=request.state.world) as stream:
            async for piece in stream.text():
                yield piece

    service(ask, lifespan)


def pydantic_ai() -> None:
    """The service of Pydantic AI, which keeps nothing."""
    from pydantic_ai import Agent

    agent = Agent("openai-chat:gpt-4o")

    async def ask(request: Any) -> AsyncIterator[str]:
        async with agent.run_stream(PROMPT) as stream:
            async for piece in stream.stream_text(delta=True):
                yield piece

    service(ask)


if __name__ == "__main__":
    process = sys.argv[1]
    if process == "model":
        asyncio.run(model(float(sys.argv[2]) / 1000))
    else:
        {"artificer": artificer, "pydantic_ai": pydantic_ai}[process]()
