"""Images, sounds and files in prompts: from the program to each provider, and in the journal."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from strict_rules import Protocol
from strict_server import Calls, Says, StrictServer

from artificer import Agent, Audio, File, Image, Limits, World, tool
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.errors import AuthorError, ConfigError, NotFoundError
from artificer.ports import Attachment, Memo, Provider
from artificer.ports.attachment import block_of
from artificer.providers.anthropic import Anthropic
from artificer.providers.local import Local
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.export import export
from artificer.render.attachments import ShownAttachment, attachments_html
from artificer.report import write_views
from artificer.values.blocks import Message, ToolResultBlock, user
from artificer.values.canon import digest_of
from pictures import MP3, PDF, SVG, WAV, png

PROVIDERS: dict[Protocol, type[Anthropic | OpenAIChat | OpenAIResponses]] = {
    "messages": Anthropic,
    "chat": OpenAIChat,
    "responses": OpenAIResponses,
}
CAT = Image.from_bytes(png(), name="cat.png")
FIGURES = File.from_bytes(b"a,b\n1,2\n", "text/csv", name="figures.csv")
PAPER = File.from_bytes(PDF, name="paper.pdf")


async def asked(protocol: Protocol, *attachments: Attachment) -> list[dict[str, Any]]:
    """The parts of the user's message as a strict server got and took them, after a replay."""
    async with StrictServer(Says("A cat.")) as server, World.in_memory() as world:
        provider: Provider = PROVIDERS[protocol](base_url=server.url, api_key="key")
        try:
            run = await Agent(provider, kind="chat").run(["What is it?", *attachments], world=world)
        finally:
            await provider.aclose()
        assert server.refused == []
        assert run.text == "A cat."
        replay = await world.archive.replay(run.id)
        assert replay.identical and replay.requests == 1
        (seen,) = server.seen
        messages = seen.body["input" if protocol == "responses" else "messages"]
        return list(next(m for m in messages if m.get("role") == "user")["content"])


@pytest.mark.req("attachment-wires")
class TestWires:
    async def test_messages(self) -> None:
        image, table, paper, text = await asked("messages", CAT, FIGURES, PAPER)
        data = base64.b64encode(CAT.data).decode()
        assert image == {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        }
        assert table["title"] == "figures.csv"
        assert table["source"]["data"] == "a,b\n1,2\n"
        assert base64.b64decode(paper["source"]["data"]) == PDF
        assert text == {"type": "text", "text": "What is it?"}

    async def test_chat(self) -> None:
        sound, song = Audio.from_bytes(WAV), Audio.from_bytes(MP3)
        image, table, paper, wav, mp3, text = await asked("chat", CAT, FIGURES, PAPER, sound, song)
        url = image["image_url"]["url"]
        assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == CAT.data
        assert table["text"] == "figures.csv (text/csv):\n\na,b\n1,2\n"
        assert paper["file"]["filename"] == "paper.pdf"
        assert [wav["input_audio"]["format"], mp3["input_audio"]["format"]] == ["wav", "mp3"]
        assert text == {"type": "text", "text": "What is it?"}

    async def test_responses(self) -> None:
        image, table, paper, text = await asked("responses", CAT, FIGURES, PAPER)
        assert base64.b64decode(image["image_url"].partition(",")[2]) == CAT.data
        assert table["text"].endswith("a,b\n1,2\n")
        assert paper["file_data"].startswith("data:application/pdf;base64,")
        assert text == {"type": "input_text", "text": "What is it?"}


@pytest.mark.req("attachment-digest")
async def test_the_recorded_request_names_the_blob_and_holds_no_bytes() -> None:
    async with StrictServer(Says("A cat.")) as server, World.in_memory() as world:
        provider = PROVIDERS["messages"](base_url=server.url, api_key="key")
        run = await Agent(provider, kind="chat").run(["What?", CAT], world=world)
        records = await world._resources.storage.journal.read(run.id)
        await provider.aclose()
    bodies = "".join(record.body.decode() for record in records)
    assert digest_of(CAT.data) in bodies
    assert base64.b64encode(CAT.data).decode() not in bodies


@pytest.mark.req("attachment-digest")
async def test_a_model_cannot_have_a_blob_sent_by_writing_its_place() -> None:
    from artificer.values.blob_text import blob_text, with_blobs

    place = blob_text("sha256:" + "0" * 64, "base64")
    arguments: Any = {"role": "assistant", "content": [{"type": "tool_use", "input": place}]}
    reasoning: Any = {"type": "reasoning", "content": [place]}
    for item in (arguments, reasoning):
        assert with_blobs(item, lambda digest: b"secret") is item


@pytest.mark.req("attachment-kept")
async def test_an_exported_run_brings_its_attachments() -> None:
    async with World.in_memory() as world, World.in_memory() as other:
        agent = Agent(ScriptedProvider([say("A cat.")]), kind="chat")
        run = await agent.run(["What?", CAT], world=world)
        storage = world._resources.storage
        imported = await other.import_run(await export(storage.journal, storage.blobs, run.id))
        assert (await other.archive.replay(imported)).identical
        fork = Agent(ScriptedProvider([say("A dog.")]), kind="chat")
        forked = await fork.fork(imported, world=other)
        assert forked.text == "A dog."
        (block,) = forked.state.run_spec.attachments
        assert other._resources.storage.blobs.get(block.digest) == CAT.data


@pytest.mark.req("attachment-limits")
class TestLimits:
    @pytest.mark.parametrize(
        ("limits", "fault"),
        [
            (Limits(attachments=1), "at most 1 attachments"),
            (Limits(attachment_bytes=10), "at most 10 bytes"),
            (Limits(attached_bytes=100), "of a conversation have at most 100 bytes"),
        ],
    )
    async def test_too_much_is_refused_before_the_run_begins(
        self, limits: Limits, fault: str
    ) -> None:
        agent = Agent(ScriptedProvider([]), kind="chat", limits=limits)
        async with World.in_memory() as world:
            with pytest.raises(AuthorError, match=fault) as error:
                await agent.run(["What?", CAT, CAT], world=world)
            assert error.value.hint is not None and "attachment_bytes" in error.value.hint
            assert await world.archive.runs() == []

    async def test_what_is_no_part_of_a_prompt_is_named(self) -> None:
        async with World.in_memory() as world:
            for wrong, name in (([b"bytes"], "bytes"), (b"bytes", "bytes"), (3, "int")):
                with pytest.raises(AuthorError, match=name):
                    await Agent(ScriptedProvider([])).run(wrong, world=world)  # type: ignore[arg-type]
            with pytest.raises(AuthorError, match="empty"):
                await Agent(ScriptedProvider([])).run([], world=world)


@pytest.mark.req("attachment-refused")
class TestModelsThatReadLess:
    async def test_a_local_model_is_named_before_the_run_begins(self, tmp_path: Path) -> None:
        agent = Agent(Local(tmp_path / "none.gguf"), kind="chat")
        async with World.in_memory() as world:
            with pytest.raises(ConfigError, match=r"cat\.png .* reads text only") as error:
                await agent.run(["What?", CAT], world=world)
            assert error.value.hint is not None
            assert await world.archive.runs() == []

    @pytest.mark.parametrize("protocol", ["messages", "responses"])
    async def test_an_api_without_audio(self, protocol: Protocol) -> None:
        agent = Agent(PROVIDERS[protocol](base_url="http://127.0.0.1:9"), kind="chat")
        async with World.in_memory() as world:
            with pytest.raises(ConfigError, match="takes no audio"):
                await agent.run(["What?", Audio.from_bytes(WAV)], world=world)

    async def test_an_image_that_anthropic_would_refuse(self) -> None:
        large = Image.from_bytes(png() + bytes(4_000_000))
        async with World.in_memory() as world:
            with pytest.raises(ConfigError, match="at most 3,932,160 bytes"):
                await Agent("anthropic/claude").run(["What?", large], world=world)


@pytest.mark.req("attachment-types")
class TestReading:
    def test_the_type_is_found_from_the_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "cat.txt").write_bytes(png())
        assert Image.from_path(tmp_path / "cat.txt").media_type == "image/png"
        with pytest.raises(NotFoundError):
            Image.from_path(tmp_path / "none.png")

    def test_a_vector_image_is_a_file(self) -> None:
        with pytest.raises(AuthorError, match="svg"):
            Image.from_bytes(SVG, name="cat.svg")
        with pytest.raises(AuthorError, match="claimed to be image/png"):
            Image.from_bytes(SVG, "image/png")
        assert File.from_bytes(SVG, name="cat.svg").media_type == "image/svg+xml"


@tool(effect="pure")
async def draw(title: str) -> list[str | Image]:
    """Draw a chart."""
    return [f"Drawn: {title}", CAT]


@tool(effect="pure")
def read_paper() -> File:
    """Return the paper."""
    return PAPER


@tool(effect="pure")
async def lie() -> Image:
    """Return a drawing that claims to be an image."""
    return Image(data=SVG, media_type="image/png", name="a/b.png")


@pytest.mark.req("attachment-results")
class TestToolResults:
    @pytest.mark.parametrize("protocol", ["messages", "chat", "responses"])
    async def test_a_model_is_shown_what_functions_return(self, protocol: Protocol) -> None:
        turns = Calls(("draw", '{"title": "A"}'), ("read_paper", "{}")), Says("A cat.")
        async with StrictServer(*turns) as server, World.in_memory() as world:
            provider = PROVIDERS[protocol](base_url=server.url, api_key="key")
            agent = Agent(provider, kind="chat", tools=[draw, read_paper])
            run = await agent.run("Draw.", world=world)
            await provider.aclose()
            assert (server.refused, run.text) == ([], "A cat.")
            sent = str(server.seen[1].body)
            assert base64.b64encode(CAT.data).decode() in sent
            assert base64.b64encode(PDF).decode() in sent
            assert "Drawn: A" in sent and "file paper.pdf (application/pdf" in sent
            assert (await world.archive.replay(run.id)).identical
            storage = world._resources.storage
            data = await export(storage.journal, storage.blobs, run.id)
        async with World.in_memory() as other:
            imported = await other.import_run(data)
            assert other._resources.storage.blobs.get(digest_of(PDF)) == PDF
            assert (await other.archive.replay(imported)).identical

    async def test_what_is_too_much_is_left_out_with_a_note(self) -> None:
        script = ScriptedProvider(
            [reply(call("draw", title="A"), call("draw", title="B")), say("Done.")]
        )
        agent = Agent(script, kind="chat", tools=[draw], limits=Limits(attachments=1))
        async with World.in_memory() as world:
            run = await agent.run("Draw.", world=world)
            assert (await world.archive.replay(run.id)).identical
        first, second = script.requests[1]["messages"][-1]["blocks"]
        assert len(first["attachments"]) == 1 and "attachments" not in second
        assert "was left out: a conversation has at most 1 attachments" in second["content"]

    async def test_a_false_claim_of_a_tool_is_left_out_with_a_note(self) -> None:
        script = ScriptedProvider([reply(call("lie")), say("Done.")])
        async with World.in_memory() as world:
            await Agent(script, kind="chat", tools=[lie]).run("Lie.", world=world)
        (result,) = script.requests[1]["messages"][-1]["blocks"]
        assert "attachments" not in result
        assert "An attachment was left out: " in result["content"]

    async def test_a_model_that_reads_text_only_is_sent_the_name(self, tmp_path: Path) -> None:
        result = ToolResultBlock(
            tool_use_id="a", status="ok", content="Drawn.", attachments=(block_of(CAT),)
        )
        messages = [user("Draw."), Message(role="user", blocks=(result,))]
        local = Local(tmp_path / "none.gguf")
        request = RunSpec(
            kind="chat", prompt="", provider="local", model="m", toolset='{"tools":[]}'
        )
        payload = local.prepare(RunState(spec=request).request(), messages, Memo())
        assert payload.items[-1]["content"].endswith(
            "[image cat.png (image/png, 73 bytes) is not shown: this model reads text only.]"
        )


@pytest.mark.req("attachment-reports")
async def test_a_report_shows_images_and_lists_files(tmp_path: Path) -> None:
    drawing = File.from_bytes(SVG, name="<b>.svg")
    agent = Agent(ScriptedProvider([say("# Cats\n\nA cat.")]))
    async with World.in_memory() as world:
        run = await agent.run(["What?", CAT, drawing, FIGURES], world=world)
        storage = world._resources.storage
        assert run.deliverable is not None
        views = write_views(tmp_path, run.id, run.state, run.deliverable, storage.blobs)
    page, markdown = views.html.read_text("utf-8"), views.markdown.read_text("utf-8")
    data = base64.b64encode(CAT.data).decode()
    assert f'<img src="data:image/png;base64,{data}" alt="cat.png">' in page
    assert page.count("<img") == 1
    assert "&lt;b&gt;.svg" in page and "<script" not in page
    assert "- `figures.csv`: text/csv, 8 bytes, sha256:" in markdown


@pytest.mark.req("attachment-reports")
def test_what_is_not_the_image_that_a_record_says_is_only_named() -> None:
    block = block_of(CAT)
    for data in (SVG, PDF, None):
        page = attachments_html([ShownAttachment(block, data)])
        assert "<img" not in page and "cat.png" in page
    assert attachments_html([]) == ""
