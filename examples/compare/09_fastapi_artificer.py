"""A web service that streams the model's text."""

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient

from artificer import Agent, World, lifespan

agent = Agent("openai-chat/gpt-4o", kind="chat")
app = FastAPI(lifespan=lifespan)


async def text(prompt: str, world: World):
    async with agent.stream(prompt, world=world) as stream:
        async for piece in stream.text():
            yield piece


@app.get("/ask")
async def ask(prompt: str, request: Request) -> StreamingResponse:
    return StreamingResponse(text(prompt, request.state.world), media_type="text/plain")


with TestClient(app) as client:
    print(client.get("/ask", params={"prompt": "Why is the sky blue?"}).text)
