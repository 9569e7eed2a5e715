"""``artificer init --world``: a world in a database, and the roles that use it."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import psycopg
import pytest
from cli_kit import Shell
from object_server import ObjectServer
from postgres_server import PostgresServer

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.cli.setup.shown_url import shown_url
from artificer.config import Config, load_config
from artificer.errors import OperatorError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.storage.postgres.connection import Database
from artificer.world import World

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("init-world")]

GUIDE = Path(__file__).parents[2] / "docs/guides/postgresql.md"

numbers = count()


def place(server: PostgresServer, user: str = "artificer") -> tuple[str, str]:
    """A schema that nobody uses, and its URL."""
    schema = f"init_{next(numbers)}"
    return schema, server.url(schema, user)


async def test_init_makes_a_world_and_says_what_is_next(
    shell: Shell, postgres_server: PostgresServer, object_server: ObjectServer
) -> None:
    schema, url = place(postgres_server)
    blobs = f"s3://worlds/{schema}"
    url = f"{url}&blobs={blobs}"
    keys = s3_keys(object_server)
    made = await shell.run("init", "--world", url, "--model", "openai/gpt-5", env=keys)
    assert made.code == 0, made.err
    assert made.out == f"{shell.cwd / 'artificer.toml'}\n"
    assert "created the world" in made.err and blobs in made.err and "artificer doctor" in made.err
    config = load_config(shell.cwd)
    assert (config.storage, config.model) == (url, "openai/gpt-5")
    again = await shell.run("init", "--world", url, env=keys)
    assert again.code == 0 and "exists already" in again.err
    assert (await shell.run("verify", env=keys)).code == 0
    other = await shell.run("init", "--world", url.replace(schema, "another"), env=keys)
    assert other.code == 3 and "its world is another one" in other.err
    as_worker = {**keys, "ARTIFICER_STORAGE": url.replace(schema, "another")}
    assert (await shell.run("init", "--world", url, env=as_worker)).code == 0, "as an upgrade"
    mistyped = await shell.run("verify", env={**keys, "ARTIFICER_STORAGE": f"{url}&schema=typo"})
    assert mistyped.code == 3 and "There is no world at the URL" in mistyped.err
    found = {one["what"]: one for one in (await shell.run("doctor", "--json", env=keys)).json()}
    assert found["world"]["detail"].endswith(f"&schema={schema}&blobs={blobs}")


async def test_a_file_that_names_no_world_is_not_changed(shell: Shell) -> None:
    shell.configure("http://127.0.0.1:9")
    kept = (shell.cwd / "artificer.toml").read_text("utf-8")
    refused = await shell.run("init", "--world", "postgresql://h/db")
    assert refused.code == 3 and "does not name this world" in refused.err
    assert (shell.cwd / "artificer.toml").read_text("utf-8") == kept


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "postgresql://ada:quokka@h:5/db?schema=x&password=quokka",
            "postgresql://ada@h:5/db?schema=x",
        ),
        ("postgresql://ada:quok@ka@h/db", "postgresql://…"),
        ("postgresql://ada:quokka@h:port/db", "postgresql://…"),
        ("postgresql://ada:quok/ka@h/db", "postgresql://…"),
        ("postgresql://ada@[::1]/db", "postgresql://ada@[::1]/db"),
        ("temporal://h:7233/default?queue=q", "temporal://h:7233/default?queue=q"),
    ],
)
def test_no_password_is_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def s3_keys(server: ObjectServer) -> dict[str, str]:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
    settings = {"AWS_ENDPOINT_URL": server.endpoint, "AWS_ALLOW_HTTP": "true"}
    return settings | dict.fromkeys(names, "test")


@pytest.mark.parametrize("where", ["ada:quokka@h/db?", "ada@h/db?password=quokka&"])
async def test_a_password_is_never_written(shell: Shell, where: str) -> None:
    refused = await shell.run("init", "--world", f"postgresql://{where}schema=x")
    assert refused.code == 3
    assert "contains a password" in refused.err and "PGPASSWORD" in refused.err
    assert "quokka" not in refused.err
    assert list(shell.cwd.iterdir()) == []


async def test_where_no_server_answers_nothing_is_written(shell: Shell, tmp_path: Path) -> None:
    refused = await shell.run("init", "--world", f"postgresql://a@/b?host={tmp_path}")
    assert refused.code != 0 and "cannot be reached" in refused.err
    assert list(shell.cwd.iterdir()) == []


async def test_roles_are_about_a_world_in_a_database(shell: Shell) -> None:
    assert "need --world" in (await shell.run("init", "--role", "w")).err
    assert "in PostgreSQL" in (await shell.run("init", "--world", "sqlite", "--role", "w")).err
    plain = await shell.run("init", "--world", "sqlite")
    assert plain.code == 0 and (shell.home / "test" / "journal.db").exists()


async def test_the_guide_says_what_is_done(shell: Shell) -> None:
    url = "postgresql://owner@h/db?schema=artificer"
    printed = await shell.run("init", "--world", url, "--role", "worker", "--print-sql")
    block = GUIDE.read_text("utf-8").partition("```sql\n")[2].partition("```")[0]
    assert printed.out.replace('"', "") == block
    assert list(shell.cwd.iterdir()) == []


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_role_works_in_its_own_world_and_in_no_other(
    shell: Shell, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """A tenant is a schema and a role: it runs, replays and verifies; it sees no other."""
    urls = {}
    for tenant in ("ann", "bob"):
        schema, url = place(postgres_server)
        urls[tenant] = url.replace("artificer@", f"{schema}@")
        made = await shell.run("init", "--world", url, "--role", schema, "--reader", f"{schema}_r")
        assert made.code == 0 and f"created the role {schema}" in made.err, made.err
        (shell.cwd / "artificer.toml").unlink()
    for tenant, url in urls.items():
        script = [reply(call("add", a=1, b=2)), say("3" * 40_000)]
        agent = Agent(ScriptedProvider(script), kind="chat", tools=[add])
        config = Config(home=tmp_path / tenant, project="p", storage=url)
        async with World.open(config) as world:
            await world.run("Add.", agent, run_id="r")
            assert (await world.archive.replay("r")).identical
            assert (await world.archive.verify()).sound
            await world.maintenance.prune("r")
            assert (await world.maintenance.gc(older_than_s=-5)).files > 0
            assert (await world.archive.verify()).sound
    mine, theirs = (
        Database.parse(urls[tenant], "power", read_only=False) for tenant in ("ann", "bob")
    )
    reader = urls["ann"].replace(f"{mine.schema}@", f"{mine.schema}_r@")
    useless = await shell.run("worker", "--until-idle", "--world", reader)
    assert useless.code == 3 and "permission denied" in useless.err and "ready" not in useless.err
    with mine.connect() as db:
        for statement in (
            f'SELECT * FROM "{theirs.schema}".records',
            f"INSERT INTO \"{theirs.schema}\".runs VALUES (9, 'x', 1, 1, '', '', '')",
            "DROP TABLE runs",
            "ALTER TABLE runs ADD more text",
            "CREATE TABLE more (one int)",
            "DELETE FROM records",
            "TRUNCATE records",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(statement.encode())
        query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = %s"
        assert db.execute(query, (theirs.schema,)).fetchone() == (0,)
    ours = urls["ann"].replace(f"schema={mine.schema}", f"schema={theirs.schema}")
    with pytest.raises(OperatorError, match="denies this user"):
        async with World.open(Config(home=tmp_path, project="p", storage=ours)):
            pass
    looking = urls["ann"].replace(f"{mine.schema}@", f"{mine.schema}_r@")
    with Database.parse(looking, "power", read_only=False).connect() as db:
        assert db.execute("SELECT count(*) FROM runs").fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("UPDATE runs SET epoch = 9")


async def test_a_role_that_may_do_more_is_refused(
    shell: Shell, postgres_server: PostgresServer
) -> None:
    _, url = place(postgres_server)
    refused = await shell.run("init", "--world", url, "--role", "artificer")
    assert refused.code == 3 and "has too many rights for a worker" in refused.err
    reserved = await shell.run("init", "--world", url, "--role", "public")
    assert reserved.code != 0 and "reserved" in reserved.err
    assert not (shell.cwd / "artificer.toml").exists()
