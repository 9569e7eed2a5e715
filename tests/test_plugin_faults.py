"""Plug-ins that break a protocol: the error comes where they enter, and names their package."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import preloaded

pytestmark = [pytest.mark.req("plugin-broken"), pytest.mark.xdist_group("plugin-faults")]

CODE = """
from dataclasses import replace
from pydantic import BaseModel, model_validator
from artificer.extend import Backend, Fault, ManifestSection, ProviderKind, on_call

class Keys(BaseModel):
    pass

def backend(
    called, part=None, faults=(), filled=(), link=None, origin="", tools=None, *,
    programs=(), made=None
):
    class Section(ManifestSection):
        name, keys = called, Keys
        def read(self, manifest, keys, found, *, compat):
            found += faults
            return part
        def fill_in(self, table):
            return filled
        def link(self, files):
            return (list(files), []) if link is None else link(files)
        def origin(self, part):
            return origin
        def definitions(self, manifest):
            own = manifest.definition
            return tools(own) if callable(tools) else tools or (own,)
        def programs(self, part):
            return programs
    executors = made or on_call("nowhere:executors")
    return Backend(section=Section(), executors=executors)

class Executor:
    def __init__(self, tools):
        self.tools = tools
    async def execute(self, call):
        pass

def offering(change):
    return lambda files, context: [Executor(change(files[0].definition))]


NOTHING = backend("nothing")
LENIENT = backend("lenient", faults=[Fault(("lenient",), "is odd", lenient=True)])
WORDS = backend("words", faults=["is wrong"])
PATH = backend("path", faults=[Fault("path", "is wrong")])
NUMBER = backend("number", faults=[Fault(("number",), 4)])
FILLED = backend("filled", part=1, filled=["is wrong"])
UNFILLED = backend("unfilled", part=1, filled=None)
FILES = backend("files", part=1, link=list)
TEXT = backend("text", part=1, link=lambda files: (files, "is wrong"))
PARTS = backend("parts", part=1, link=lambda files: ([1 for _ in files], []))
GREEDY = backend("greedy", part=1, link=lambda files: (files[:1], []))
PLACE = backend("place", part=1, origin=4)
SERVER = backend("server", part=1, origin="mcp:shop")
ONE = backend("one", part=1, tools="tea")
HERE = backend("here", part=1, origin="here:kitchen")
EMPTY = backend("empty", part=1, tools=lambda tool: ())
DOUBLE = backend("double", part=1, tools=lambda t: (t.replace(name="milk"), t, t))
SCHEMA = backend("schema", part=1, tools=lambda t: (t.replace(input_schema={"type": "tea"}),))
LATIN = backend("latin", part=1, tools=lambda tool: (tool.replace(description="\\udcff"),))
PROGRAM = backend("program", part=1, programs=None)
PROGRAMS = backend("programs", part=1, programs=["tea"])
LAX = backend("lax", part=1, made=offering(lambda tool: (tool.replace(effect="pure"),)))
ALIEN = backend("alien", part=1, made=offering(lambda tool: (tool, tool.replace(name="milk"))))
IDLE = backend("idle", part=1, made=offering(lambda tool: ()))
TEXTUAL = backend("textual", part=1, made=offering(lambda tool: "tea"))
ODDLY = backend("oddly", part=1, made=offering(lambda tool: (type("Odd", (), {"name": None}),)))
KEEN = backend("keen", part=1, made=offering(lambda tool: (tool,)))
FAIR = backend("fair", faults=[Fault(("fair",), "is wrong")])
class NoSection:
    name = "bare"
BARE = Backend(section=NoSection(), executors=on_call("nowhere:executors"))

class Kind:
    def __init__(self, opens):
        self.opens = opens
    async def open(self, place):
        return self.opens

class Half:
    journal = blobs = signals = budget = snapshots = 1

class Plain:
    def open(self, place):
        return Half()

class Odd(Half):
    versions = 1
    async def acquire(self, run, claim=None):
        return None
    async def aclose(self):
        pass
    @property
    def journal(self):
        return self

class Exits:
    async def open(self, place):
        raise SystemExit(0)

class Broken:
    def open(self, place):
        return 1 / 0

BROKEN = Broken()
NONE, HALF, PLAIN, SOURCE = Kind(None), Kind(Half()), Plain(), Plain()
def wordless(place):
    return "kettle"

def leaving(place):
    raise SystemExit(0)

class Nameless(ManifestSection):
    keys = Keys
    read = lambda self, manifest, keys, found, *, compat: 1

NAMELESS = Backend(section=Nameless(), executors=on_call("nowhere:executors"))
class Shy(Nameless):
    @property
    def name(self):
        raise KeyError("name")

class Settings(BaseModel):
    @model_validator(mode="after")
    def check(self):
        raise KeyError("heat")

SETTINGS = replace(NOTHING, settings=Settings)
SHY = Backend(section=Shy(), executors=on_call("nowhere:executors"))
GROQ = ProviderKind(make=wordless)
ARGS, ALIAS = backend("args", part=1), backend("here", part=1)
WORDLESS, LEAVING = ProviderKind(make=wordless), ProviderKind(make=leaving)
ODD, EXITS = Kind(Odd()), Exits()
"""

BACKENDS = (
    *("nothing", "lenient", "words", "path", "number", "filled", "unfilled", "fair", "bare"),
    *("files", "text", "parts", "greedy", "place", "server", "one", "here"),
    *("empty", "double", "schema", "latin", "program", "programs"),
    *("lax", "alien", "idle", "textual", "oddly", "keen", "args", "alias", "nameless"),
    *("shy", "settings"),
)

ENTRIES = {
    "backends": [f"{name} = kettle:{name.upper()}" for name in BACKENDS],
    "storage": [
        *("none = kettle:NONE", "half = kettle:HALF", "plain = kettle:PLAIN"),
        *("odd = kettle:ODD", "exits = kettle:EXITS"),
    ],
    "providers": [
        *("wordless = kettle:WORDLESS", "leaving = kettle:LEAVING", "groq = kettle:GROQ"),
    ],
    "dispatchers": ["half = kettle:HALF"],
    "secrets": ["half = kettle:SOURCE", "broken = kettle:BROKEN"],
}

FAULTS = {
    "manifest nothing": "read [nothing] as None, and added no fault that says why",
    "compat lenient": "read [lenient] as None, and added no fault that says why",
    "manifest words": "added an object of type str to the faults, not a Fault",
    "manifest path": "added a fault whose path is no tuple of texts: 'path'",
    "manifest number": "added a fault whose message is of type int",
    "compat filled": "added an object of type str to the faults, not a Fault",
    "compat unfilled": "returned an object of type NoneType, not an iterable of faults",
    "manifest shy": "raised KeyError when its section was asked for its name.",
    "doctor shy": "raised KeyError when its section was asked for its name.",
    "manifest bare": "has a section of type NoSection, not a ManifestSection",
    "folder files": "linked the files of a folder to [ManifestFile(",
    "folder text": "linked the files of a folder to (",
    "folder parts": "linked an object of type int, not a ManifestFile",
    "folder greedy": "changed, moved or left out the files of another section",
    "folder place": "offers a tool that cannot be: ",
    "folder server": "offers the tool tea with the backend 'server' and the origin 'mcp:shop': ",
    "folder one": "offers 'tea', not a tuple of tools",
    "folder empty": "offers no tool for ",
    "folder double": "offers two tools called tea for ",
    "folder schema": "offers the tool tea, which cannot be: This is not a usable JSON Schema",
    "folder latin": "offers the tool tea, which cannot be: A text that is not UTF-8 cannot be",
    "folder program": "named None as a program, not a key and a program.",
    "folder programs": "named 'tea' as a program, not a key and a program.",
    "executors lax": "made an executor that offers tea otherwise than its manifests do",
    "executors alien": "made an executor that offers milk otherwise than its manifests do",
    "executors idle": "made no executor that offers tea.",
    "executors oddly": "made an executor that offers None otherwise than its manifests do",
    "executors textual": "made an executor whose tools are 'tea', not a tuple.",
    "storage none": "opened nothing, although the world is not only read",
    "storage half": "opened an object of type Half, not a Storage: it has no versions, aclose.",
    "reading half": "opened an object of type Half, not a Storage: it has no versions, aclose.",
    "storage plain": "has a method open that is not async",
    "storage exits": "raised SystemExit in open.",
    "using odd": "returned None from journal.acquire, not a Lease",
    "dispatcher half": "not a Dispatcher: it has no submit, wake, cancel, serve, aclose",
    "settings settings": "raised KeyError when it read its settings.",
    "secrets broken": "raised ZeroDivisionError when it was opened.",
    "secrets half": "not a SecretSource: it has no local, resolve, place, at_hand",
}

SOUND = {
    "manifest fair": "ManifestError: tea.clad.toml:6: fair: is wrong",
    "manifest lenient": "ManifestError: tea.clad.toml:6: lenient: is odd",
    "reading none": "",
    "folder here": "",
    "executors keen": "",
    "doctor keen": "ConfigError: ",
}


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The error of each case, from one program in which the package is installed."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "kettle.py").write_text(CODE)
    info = folder / "kettle-2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kettle\nVersion: 2.1\n")
    groups = [f"[artificer.{group}]\n" + "\n".join(ls) for group, ls in ENTRIES.items()]
    (info / "entry_points.txt").write_text("\n".join(groups) + "\n")
    cases = json.dumps([name.split() for name in {**FAULTS, **PROVIDERS, **UNREACHABLE, **SOUND}])
    program = Path(__file__).with_name("broken_plugins.py")
    paths = (str(folder), os.environ.get("PYTHONPATH"))
    done = preloaded.run(
        [str(program), str(folder / "home"), cases],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("case", FAULTS)
def test_the_error_names_the_package_and_the_fault(errors: dict[str, str], case: str) -> None:
    assert errors[case].startswith("ConfigError: The plug-in ")
    assert " of kettle 2.1 (artificer." in errors[case]
    assert FAULTS[case] in errors[case]


PROVIDERS = {
    "provider wordless": "is an object of type str, not a Provider: it has no name, prepare, ",
    "provider leaving": "was not created: its package raised SystemExit.",
}


@pytest.mark.parametrize("case", PROVIDERS)
def test_the_error_says_what_a_package_made_instead_of_a_provider(
    errors: dict[str, str], case: str
) -> None:
    assert errors[case].startswith("ConfigError: The provider created for ")
    assert PROVIDERS[case] in errors[case]
    assert "This is a bug in kettle 2.1: report it" in errors[case]


UNREACHABLE = {
    "doctor args": "'args' of kettle 2.1 is never read: it is a key of every manifest.",
    "doctor alias": "of kettle 2.1 (artificer.backends) has the section [here], whose name its ",
    "doctor nameless": "of kettle 2.1 (artificer.backends) has the section [None], whose name its ",
    "doctor groq": "'groq' of kettle 2.1 is never asked: it is the name of a built-in server.",
    "manifest alias": "of kettle 2.1 (artificer.backends) has the section [here], whose name its ",
}


@pytest.mark.req("plugin-doctor")
@pytest.mark.parametrize("case", UNREACHABLE)
def test_doctor_says_that_nothing_leads_to_a_plug_in(errors: dict[str, str], case: str) -> None:
    assert UNREACHABLE[case] in errors[case]


@pytest.mark.parametrize("case", SOUND)
def test_what_keeps_the_protocol_is_no_fault_of_the_package(
    errors: dict[str, str], case: str
) -> None:
    assert errors[case] == SOUND[case]
