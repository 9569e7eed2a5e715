"""A web service that streams the model's text."""

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-4o")
app = FastAPI()


async def text(prompt: str):
    async with agent.run_stream(prompt) as stream:
        async for piece in stream.stream_text(delta=True):
            yield piece


@app.get("/ask")
async def ask(prompt: str) -> StreamingResponse:
    return StreamingResponse(text(prompt), media_type="text/plain")


with TestClient(app) as client:
    print(client.get("/ask", params={"prompt": "Why is the sky blue?"}).text)
