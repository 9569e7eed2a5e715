"""The guide to a cluster, followed literally: real servers and two workers."""

from __future__ import annotations

import asyncio
import shlex
from itertools import count
from pathlib import Path

import pytest
from blocks import DOCS, blocks
from cli_kit import Result, Shell
from object_server import ObjectServer
from postgres_server import PostgresServer
from strict_server import Says, StrictServer

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("cluster-guide")]

DATABASE = "postgresql://owner@db.example.org/agents?schema=artificer&blobs=s3://agents/blobs"

numbers = count()


class Guide:
    """The commands of the guide, with the servers of the tests in place of its examples."""

    def __init__(self, server: PostgresServer, environment: dict[str, str]) -> None:
        self._role = f"cluster_{next(numbers)}"
        self._url = f"{server.url(self._role)}&blobs=s3://worlds/{self._role}"
        self.environment = environment
        self._blocks = {block.title: block.source for block in blocks(DOCS / "guides/cluster.md")}

    def commands(self, title: str) -> list[list[str]]:
        """The words of each command of a block; what it exports is in the environment then."""
        found = []
        for line in self._blocks[title].splitlines():
            words = shlex.split(self._replaced(line))
            if words[0] == "export":
                name, _, value = words[1].partition("=")
                self.environment[name] = value
            else:
                assert words[0] == "artificer"
                found.append(words[1:])
        return found

    def _replaced(self, line: str) -> str:
        ours = self._url.replace("artificer@", f"{self._role}@")
        line = line.replace(DATABASE, self._url).replace(DATABASE.replace("owner", "worker"), ours)
        return line.replace("--role worker", f"--role {self._role}")


async def test_the_guide_makes_a_cluster(
    tmp_path: Path, postgres_server: PostgresServer, object_server: ObjectServer
) -> None:
    keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"), "test")
    keys |= {"AWS_ENDPOINT_URL": object_server.endpoint, "AWS_ALLOW_HTTP": "true"}
    guide = Guide(postgres_server, keys)
    machines = []
    for name in ("owner", "one", "two"):
        (tmp_path / name).mkdir()
        machines.append(Shell(tmp_path / name))
    owner, *workers = machines
    workers[1].home = workers[0].home  # on one machine each sees that the other one lives

    async def follow(shell: Shell, title: str) -> list[Result]:
        done = []
        for words in guide.commands(title):
            done.append(await shell.run_process(*words, env=guide.environment))
            assert done[-1].code == 0, (words, done[-1].err)
        return done

    (made,) = await follow(owner, "once")
    assert "created the world" in made.err and "created the role" in made.err
    assert guide.commands("everywhere") == []
    async with StrictServer(Says("A drink. " * 5_000), Says("Another drink.")) as server:
        for shell in workers:
            shell.configure(server.url)
        submitted = {result.out.strip() for result in await follow(workers[0], "submit")}
        assert len(submitted) == 2 and server.seen == []
        await asyncio.gather(*(follow(shell, "worker") for shell in workers))
    listed, replayed, verified = await follow(workers[1], "look")
    assert all(run in listed.out for run in submitted), listed.out
    assert "identical" in replayed.out
    assert len(verified.out.splitlines()) >= 3, "the heads of both runs, and of the world"
