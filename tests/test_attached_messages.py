"""Attachments and long texts of the messages that people send to a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from strict_server import Says, StrictServer

from artificer import Agent, Config, File, Image, Limits, Run, World
from artificer.core import events as ev
from artificer.core.record import EventLine
from artificer.core.signals import LONGEST_MESSAGE, Cancel, FollowUp, Steer
from artificer.core.state import RunState
from artificer.errors import AuthorError, ConfigError
from artificer.ports import Head
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.scripted import ScriptedProvider, say
from artificer.recordings.export import export
from artificer.runtime.fork import ForkChanges
from artificer.runtime.load import follow
from artificer.runtime.snapshot import keep, restore
from artificer.values.blocks import ImageBlock
from pictures import png

CAT = Image.from_bytes(png(), name="cat.png")
DOG = Image.from_bytes(png(2, 2), name="dog.png")
FIGURES = File.from_bytes(b"a,b\n1,2\n", "text/csv", name="figures.csv")


def talker(*texts: str, **fields: Any) -> Agent:
    return Agent(ScriptedProvider([say(text) for text in texts]), kind="chat", **fields)


def names(run: Run) -> list[list[str]]:
    """The attachments of each message of the user."""
    return [[b.name for b in m.attachments] for m in run.messages if m.role == "user"]


@pytest.mark.req("attachment-messages")
class TestMessages:
    async def test_a_server_gets_the_attachments_of_a_follow_up(self) -> None:
        async with StrictServer(Says("A cat."), Says("A dog.")) as server, World.in_memory() as w:
            provider = OpenAIChat(base_url=server.url, api_key="key")
            agent = Agent(provider, kind="chat")
            run = await agent.run(["What is it?", CAT], world=w)
            run = await agent.follow_up(run, ["And this?", DOG, FIGURES], world=w)
            await provider.aclose()
            assert server.refused == [] and run.text == "A dog."
            assert (await w.archive.replay(run.id)).identical
            (_, image_and_text, _, new) = server.seen[1].body["messages"]
        assert [part["type"] for part in image_and_text["content"]] == ["image_url", "text"]
        assert [part["type"] for part in new["content"]] == ["image_url", "text", "text"]

    async def test_steers_and_queued_follow_ups_keep_their_own(self) -> None:
        """Whatever waits: each follow-up has its attachments, and steers share one message."""
        async with World.in_memory() as world:
            agent = talker("One.", "Two.", "Three.", "Four.", "Five.")
            run = await agent.run("Begin", world=world)
            send, more = world.send, {"agent": agent}
            await send(run.id, FollowUp(text="first"))
            await send(run.id, FollowUp(text="second"), attachments=[CAT], **more)
            await send(run.id, Steer(text="look"), attachments=[DOG], **more)
            await send(run.id, Steer(text="closely"), attachments=[FIGURES], **more)
            await send(run.id, FollowUp(text="third"))
            run = await agent.resume(run, world=world)
            assert run.status == "completed"
            assert names(run) == [[], [], ["dog.png", "figures.csv"], ["cat.png"], []] or names(
                run
            ) == [[], [], ["cat.png"], ["dog.png", "figures.csv"], []]
            assert (await world.archive.replay(run.id)).identical
            verified = await world.archive.verify()
            assert verified.problems == []

    async def test_export_and_fork_keep_them(self) -> None:
        async with World.in_memory() as world, World.in_memory() as other:
            agent = talker("One.", "Two.")
            run = await agent.run("Begin", world=world)
            run = await agent.follow_up(run, ["And this?", CAT], world=world)
            storage = world._resources.storage
            data = await export(storage.journal, storage.blobs, run.id)
            imported = await other.import_run(data)
            assert (await other.archive.replay(imported)).identical
            assert other._resources.storage.blobs.get(CAT.digest) == CAT.data
            forked = await talker("Three.").follow_up(imported, "Again?", world=other)
            assert names(forked) == [[], ["cat.png"], []]
            fork = await talker("Four.").fork(imported, world=other)
            assert names(fork) == [[], ["cat.png"], []]

    async def test_a_fork_goes_on_with_attachments(self) -> None:
        async with World.in_memory() as world:
            run = await talker("One.").run(["Begin", CAT], world=world)
            changes = ForkChanges(steer="And this?", attachments=[DOG])
            fork = await talker("Two.").fork(run, changes, world=world)
            assert names(fork) == [["cat.png"], ["dog.png"]]
            assert (await world.archive.replay(fork.id)).identical
            assert (await world.archive.verify()).problems == []
            limited = talker("No.", limits=Limits(attachments=1))
            with pytest.raises(AuthorError, match="at most 1 attachments"):
                await limited.fork(run, changes, world=world)

    async def test_a_snapshot_holds_those_that_wait(self) -> None:
        async with World.in_memory() as world:
            agent = talker("One.", "Two.", "Three.", "Four.", "Five.")
            run = await agent.run("Begin", world=world)
            for text, one in (("a", CAT), ("b", DOG)):
                await world.send(run.id, FollowUp(text=text), attachments=[one], agent=agent)
            await world.send(run.id, Steer(text="c"), attachments=[FIGURES], agent=agent)
            await agent.resume(run, world=world)
            storage = world._resources.storage
            records = await storage.journal.read(run.id)
            upto = next(n for n, r in enumerate(records, 1) if b'"Steered"' in r.body)
            before = follow(run.id, RunState(), {}, Head(), records[:upto], storage.blobs)
            assert before.state.note_attachments and before.state.follow_up_attachments
            keep(storage.snapshots, run.id, before.head, before.state, 0)
            restored = await restore(storage.journal, storage.blobs, storage.snapshots, run.id)
            assert restored.kept == len(before.state.history)

    async def test_a_cancelled_run_sends_none_later(self) -> None:
        async with World.in_memory() as world:
            agent = talker("One.", "Two.")
            run = await agent.run("Begin", world=world)
            await world.send(run.id, FollowUp(text="a"), attachments=[CAT], agent=agent)
            await world.send(run.id, FollowUp(text="b"), attachments=[DOG], agent=agent)
            await world.send(run.id, Cancel())
            run = await agent.resume(run, world=world)
            assert run.state.follow_up_attachments == ()


@pytest.mark.req("attachment-messages")
class TestLimits:
    async def test_too_much_is_refused_before_it_is_sent(self) -> None:
        async with World.in_memory() as world:
            agent = talker("One.", "Two.", limits=Limits(attachments=1))
            run = await agent.run(["Begin", CAT], world=world)
            with pytest.raises(AuthorError, match="at most 1 attachments"):
                await agent.follow_up(run, ["More", DOG], world=world)
            assert (await agent.follow_up(run, "Go on", world=world)).text == "Two."

    async def test_a_model_that_reads_text_only_is_named(self) -> None:
        async with StrictServer(Says("Yes."), Says("No.")) as server, World.in_memory() as world:
            provider = OpenAIChat(base_url=server.url, api_key="key")
            agent = Agent(provider, kind="chat")
            run = await agent.run("Begin", world=world)
            zipped = File.from_bytes(b"PK\x03\x04" + bytes(range(256)), name="all.zip")
            with pytest.raises(ConfigError, match=r"all\.zip.* cannot be sent to"):
                await agent.follow_up(run, ["Unpack", zipped], world=world)
            await provider.aclose()

    async def test_what_is_sent_at_once_beyond_the_limits_is_left_out_by_name(self) -> None:
        """Two processes each checked their own; the run counts both."""
        async with World.in_memory() as world:
            agent = talker("One.", "Two.", "Three.", limits=Limits(attachments=1))
            run = await agent.run("Begin", world=world)
            for one in (CAT, DOG):
                await world.send(run.id, FollowUp(text="See"), attachments=[one], agent=agent)
            run = await agent.resume(run, world=world)
            assert names(run) == [[], ["cat.png"], []]
            assert "dog.png" in run.messages[-2].text and "left out" in run.messages[-2].text

    async def test_only_messages_take_them_and_only_stored_ones(self) -> None:
        async with World.in_memory() as world:
            agent = talker("One.")
            run = await agent.run("Begin", world=world)
            with pytest.raises(AuthorError, match="takes no attachments"):
                await world.send(run.id, Cancel(), attachments=[CAT], agent=agent)
            block = ImageBlock(digest=CAT.digest, media_type="image/png", size=9, tokens=9)
            with pytest.raises(AuthorError, match="is not stored"):
                await world.send(run.id, FollowUp(text="See", attachments=(block,)))


@pytest.mark.req("attachment-messages", "attachment-kept")
async def test_gc_keeps_them_until_their_run_is_pruned(tmp_path: Path) -> None:
    """Also those of a signal that no process has received yet."""
    async with World.open(Config(home=tmp_path)) as world:
        agent = talker("One.", "Two.", "Three.")
        run = await agent.run("Begin", world=world)
        await world.send(run.id, FollowUp(text="See"), attachments=[CAT], agent=agent)
        blobs, gc = world._resources.storage.blobs, world.maintenance.gc
        await gc(older_than_s=-1)
        assert blobs.has(CAT.digest), "it waits"
        run = await agent.resume(run, world=world)
        assert names(run) == [[], ["cat.png"]]
        await gc(older_than_s=-1)
        assert blobs.has(CAT.digest), "it was received"
        await world.maintenance.prune(run.id)
        await gc(older_than_s=-1)
        assert not blobs.has(CAT.digest)


@pytest.mark.req("message-length")
async def test_a_message_is_as_long_as_a_prompt() -> None:
    long = "Ünd so weiter. " * 40_000
    async with World.in_memory() as world:
        agent = talker("One.", "Two.", "Three.", "Four.")
        run = await agent.run("Begin", world=world)
        run = await agent.follow_up(run, long, world=world)
        assert run.messages[-2].text == long
        await world.send(run.id, FollowUp(text="and"))
        await world.send(run.id, Steer(text=long))
        run = await agent.resume(run, world=world)
        lines = (await world.archive.history(run.id)).lines
        events = [line.event for line in lines if isinstance(line, EventLine)]
        assert [e.text == long for e in events if isinstance(e, ev.Steered)] == [True]
        assert (await world.archive.replay(run.id)).identical
        assert (await world.archive.verify()).problems == []
        with pytest.raises(AuthorError, match="8,388,608"):
            await agent.follow_up(run, "x" * (LONGEST_MESSAGE - 10), world=world)
        with pytest.raises(AuthorError, match="65,536"):
            await world.send(run.id, Cancel(reason="é" * 40_000))
