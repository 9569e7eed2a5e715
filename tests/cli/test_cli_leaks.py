"""No secret stands in anything that is written or printed (docs/concepts/invariants.md, 9).

One story with everything that takes a secret or could repeat one, told by real processes, servers
and files; then every byte below the home and the project is read.
"""

from __future__ import annotations

import base64
import html
import json
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import pytest
from cli_kit import Result, Shell
from http_support import Answer, Seen, Server, answer, serving
from leak_search import leaks, written
from strict_server import Calls, Says, StrictServer

HERE = Path(__file__).parent
CONTROL = "what-a-server-may-say"
SECRETS = {
    "DOUBLE_KEY": "sk-provider-0b91c7e54fa2d86630",
    "ARTIFICER_SECRET_TRACKER": 'tr/ck+er "7f20" <9ab45c>\\e13d8',
    "TOOLCLAD_SECRET_VAULT": "vault:61f8e07b2d9c435aa?&=x",
    "ARTIFICER_SECRET_FAR": "far-away-5d1ce98b07f3a264",
    "OPENAI_API_KEY": "sk-unused-98f7e6d5c4b3a210",
    "ARTIFICER_SECRET_SPARE": "spär-ünused-4411aa99bb77",
}
LITERAL = "literal-c0ffee-2468ace-9731"
EVERY = {**SECRETS, "a literal header": LITERAL}

SETTINGS = f"""
model = "double/m"
tools = ["tools"]
introspect = true
host = {{ folder = "files" }}
workspaces = [{{ names = ["*"] }}]

[telemetry]
enabled = true
content = true

[[policy.rules]]
decision = "ask"
tool = "environ"

[providers.double]
base_url = "MODEL"
api_key_env = "DOUBLE_KEY"

[mcp.servers.vault]
command = ["{sys.executable}", "{HERE / "leaky_mcp.py"}"]
env = {{ VAULT = "{{_secret:vault}}" }}

[mcp.servers.far]
url = "SERVER/mcp"
headers = {{ Authorization = "Bearer {{_secret:far}}", X-Api-Key = "{LITERAL}" }}
"""
HTTP = """
[tool]
name = "tracker"
version = "1"
description = "d"
[args.x]
type = "string"
[http]
method = "POST"
url = "SERVER/echo/{_secret:tracker}?k={_secret:tracker}"
headers = { Authorization = "Bearer {_secret:tracker}", X-X = "{x}" }
body = { k = "{_secret:tracker}" }
allow_private = true
"""
ENVIRON = f"""
[tool]
name = "environ"
version = "1"
description = "A program that reads what it should not, whole and more than is kept inline."
[command]
exec = ["{sys.executable}", "-c", '''
import os, sys
own = repr(dict(os.environ))
theirs = open("/proc/%d/environ" % os.getppid(), "rb").read()
sys.stdout.buffer.write(own.encode() + theirs + b"\\n" + b"x" * 40_000 + b"\\n" + theirs)
''']
"""
SPANS = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

provider = TracerProvider()
out = open(FILE, "a")
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
trace.set_tracer_provider(provider)
"""


def echo(handler: BaseHTTPRequestHandler, seen: Seen) -> Answer:
    """All that was received, in all the usual encodings."""
    if seen.target.endswith("/mcp"):
        return mcp(seen)
    if "/refuse" in seen.target:
        return answer(401, json.dumps({"error": {"message": f"no: {seen.headers}"}}))
    got = [seen.target, *seen.headers.values(), seen.body.decode()]
    secret = SECRETS["ARTIFICER_SECRET_TRACKER"]
    said = [*got, *(encoded for text in [*got, secret] for encoded in encodings(text))]
    return answer(500 if "fail" in seen.headers.get("X-X", "") else 200, CONTROL + "\n".join(said))


def encodings(text: str) -> list[str]:
    """The forms in which a server may return a text."""
    data = text.encode()
    return [
        *(base64.b64encode(b"u" * n + data + b"!").decode() for n in range(3)),
        *(base64.urlsafe_b64encode(b"u" * n + data).decode() for n in range(3)),
        data.hex(),
        data.hex().upper(),
        quote(text),
        quote(text, safe="").replace("%2F", "%2f"),
        json.dumps(text),
        json.dumps(text).replace("/", "\\/"),
        html.escape(text),
    ]


def mcp(seen: Seen) -> Answer:
    """An MCP server behind a URL that repeats its headers."""
    message = json.loads(seen.body or b"{}")
    headers = {"Content-Type": "application/json"}
    if "id" not in message:
        return answer(202)
    match message["method"]:
        case "initialize":
            about = {"name": "s", "version": "1"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": about}
        case "tools/list":
            said = f"Speaks to {seen.headers.get('Authorization')}"
            tool = {"name": "leak", "description": said, "inputSchema": {"type": "object"}}
            result = {"tools": [tool]}
        case "tools/call":
            text = json.dumps({k.lower(): v for k, v in seen.headers.items()})
            result = {"content": [{"type": "text", "text": text}]}
        case _:
            return answer(404)
    return answer(
        200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), headers
    )


class Story:
    """A shell whose every word is kept."""

    def __init__(self, shell: Shell, folder: Path) -> None:
        self.shell = shell
        self.printed: list[tuple[str, str]] = []
        spans = folder / "site"
        spans.mkdir()
        (spans / "sitecustomize.py").write_text(
            SPANS.replace("FILE", repr(str(folder / "spans.json")))
        )
        self.environment = {
            **SECRETS,
            "ARTIFICER_DUMPABLE": "1",  # a tool of this story reads the runtime's environment
            "PYTHONPATH": str(spans),
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        }

    async def tell(self, *words: str, code: int | None = 0) -> Result:
        """Run a command, and keep what it printed."""
        result = await self.shell.run_process(*words, env=self.environment)
        self.printed.append((" ".join(words), result.out + result.err))
        assert code is None or result.code == code, (words, result.err)
        return result


def project(shell: Shell, model: str, server: Server) -> list[Path]:
    """Write the project; returns the files that hold secrets because a person wrote them there."""
    settings = SETTINGS.replace("MODEL", model).replace("SERVER", server.url)
    tools = shell.cwd / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "tracker.clad.toml").write_text(HTTP.replace("SERVER", server.url))
    (tools / "environ.clad.toml").write_text(ENVIRON)
    files = shell.cwd / "files"
    files.mkdir(exist_ok=True)
    (files / ".env").write_text("".join(f"{k}={v}\n" for k, v in SECRETS.items()))
    (shell.cwd / "artificer.toml").write_text(settings)
    return [files / ".env", shell.cwd / "artificer.toml"]


@pytest.mark.req("secrets-nowhere")
async def test_no_secret_is_written_or_printed_anywhere(shell: Shell, tmp_path: Path) -> None:
    first = Calls(
        ("tracker", '{"x": "a"}'),
        ("tracker", '{"x": "fail"}'),
        ("vault_tell", "{}"),
        ("vault_fail", "{}"),
        ("vault_shape", "{}"),
        ("far_leak", "{}"),
        ("environ", "{}"),
        ("host_read", '{"path": ".env"}'),
        ("host_grep", '{"pattern": "SECRET", "path": "."}'),
        ("introspect_module", "{}"),
    )
    then = Calls(
        ("introspect_state", '{"pointer": "/history/2/blocks"}'),
        ("introspect_schemas", "{}"),
        ("workspace_write", '{"workspace": "w", "files": [{"path": "a", "text": "b"}]}'),
        ("create_list", '{"list": {"kind": "list", "id": "l", "items": ["one"]}}'),
    )
    ends = Says("# All\n\n{{artifact:list:l}}")
    story = Story(shell, tmp_path)
    with serving(lambda handler, seen: echo(handler, seen)(handler, seen)) as server:
        async with StrictServer(first, then, *[ends] * 6) as model:
            inputs = project(shell, model.url, server)
            begun = await story.tell("-v", "run", "Tell all.", "--json", code=7)
            run = begun.json()["run"]
            await story.tell("approve", "last", "--list", "--json")
            await story.tell("steer", "last", "Go on.")
            await story.tell("approve", "last")
            done = await story.tell("-v", "resume", "last", "--json", "--out", "report")
            assert done.json()["status"] == "completed", done.out
            await story.tell("follow-up", "last", "And now?", code=None)
            await story.tell("fork", run, "--steer", "Once more.", code=None)
            for words in (
                "show last --raw|show last --json|show last|explain last --json|"
                f"diff {run} last|diff {run} last --json|export {run} -o out.run.gz|"
                f"test out.run.gz|replay {run} --json|doctor|fsck|"
                "tools run tools tracker --args {} --dry-run|tools run tools tracker --args {}"
            ).split("|"):
                await story.tell(*words.split(), code=None)
            await fails(story, shell, server)
            await story.tell("prune", run, "--forever", code=None)
        assert any(SECRETS["DOUBLE_KEY"] in s.headers["authorization"] for s in model.seen)
        assert any(
            SECRETS["ARTIFICER_SECRET_FAR"] in s.headers.get("Authorization", "")
            for s in server.seen
        )
    check(story, tmp_path, inputs)


async def fails(story: Story, shell: Shell, server: Server) -> None:
    """Let calls and requests fail in every way that reports a text."""
    settings = shell.cwd / "artificer.toml"
    whole = settings.read_text()
    settings.write_text(whole.replace('leaky_mcp.py"', 'leaky_mcp.py", "dies"'))
    died = await story.tell("run", "Tell all.", code=None)
    assert "not accepted" in died.err
    where = whole.partition('base_url = "')[2].partition('"')[0]
    settings.write_text(whole.replace(where, f"{server.url}/refuse"))
    await story.tell("-v", "run", "Tell all.", code=6)
    await story.tell("explain", "last", "--json")
    await story.tell("show", "last", "--raw")
    settings.write_text(whole.replace("X-Api-Key", "X Api"))
    await story.tell("run", "Tell all.", code=None)
    settings.write_text(whole.replace("headers = {", "headers = { a = 7,"))
    await story.tell("run", "Tell all.", code=None)
    settings.write_text(whole.replace("api_key_env", "api_key"))
    await story.tell("run", "Tell all.", code=3)
    settings.write_text(whole)


def check(story: Story, folder: Path, inputs: list[Path]) -> None:
    """Read everything. What a server may say is found, so that a secret would be too."""
    places = [*written(folder, inputs), *((w, t.encode()) for w, t in story.printed)]
    told = [where for where, data in places if CONTROL.encode() in data]
    for kind in ("journal.db", "spans.json", "unpacked", "show last --raw", "tools run"):
        assert any(kind in where for where in told), (kind, told)
    unique = {data: where for where, data in places}
    found = {where: names for data, where in unique.items() if (names := leaks(data, EVERY))}
    assert found == {}


@pytest.mark.req("secrets-nowhere")
@pytest.mark.parametrize("secret", [*EVERY.values()])
def test_the_search_finds_what_it_looks_for(secret: str) -> None:
    for text in [secret, *encodings(secret)]:
        around = f'{{"a": "{text}"}}'.encode()
        assert leaks(around, {"s": secret}) == {"s"}, text
    assert leaks(b"nothing to see here " * 100, EVERY) == set()
