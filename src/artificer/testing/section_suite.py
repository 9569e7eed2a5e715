"""Conformance tests for manifest sections: the pure half of your own backend.

Subclass `SectionSuite` in a test module and give it two pytest fixtures:

    class TestMine(SectionSuite):
        @pytest.fixture
        def section(self):
            return MySection()

        @pytest.fixture
        def manifests(self):  # texts that the section reads, by file name
            return {"look_up.clad.toml": '[tool]\\nname = "look_up"…'}

Together the manifests should have every key of the section. The suite changes them in many ways,
and reads what comes of it. An installed package is not needed, and no executor.
"""

from __future__ import annotations

import copy
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import rtoml

from artificer.contracts.arguments.types import ARGUMENT_TYPES
from artificer.contracts.definition import toolset
from artificer.contracts.schema import compile_schema
from artificer.errors import ManifestError
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.model import Manifest, ManifestFile, ManifestSection
from artificer.manifests.parse import parse_manifest
from artificer.manifests.section_reads import checked_tools, linked_files
from artificer.manifests.toml_lines import Path
from artificer.manifests.toml_text import read_toml

AnySection = ManifestSection[Any, Any]
Manifests = Mapping[str, str]

HOSTILE: tuple[Any, ...] = (
    *("", " ", "\0", "a\nb", "é" * 300, "a" * 20_000),
    *("{", "}", "{}", "{{}}", "{nobody}", "{_secret:}", "{_secret:../x}", ":nobody", "%s"),
    *("(", "[", "(a+)+$", "\\", "'", '"', "-", "--", "$(id)", "; id"),
    *("../../etc/passwd", "/", "https://[", "http://\0", "http://user:word@127.0.0.1:99999/"),
    *(-1, 0, 2**53, 2**63 - 1, 1e308, True),
    *([], [[]], ["\0"], [1, "a"], {}, {"": ""}, {"a": {"b": []}}),
)
"""TOML values that are not meant for any key."""

_OTHER = """
[tool]
name = "tool_of_another_section"
version = "1"
description = "Its calls are performed by the program that offers it."
dispatch = "callback"
"""

UNKNOWN = "a_key_that_nobody_knows"

_FAULT = re.compile(r"([^:\n]+):([0-9]+): (.+?): (\S.*)", re.DOTALL)
"""``file:line: key: what is wrong``"""

_WORLD = ("open", "os.", "socket.", "subprocess.", "shutil.", "sqlite3.", "tempfile.", "glob.")
"""Prefixes of the audit events about files, the network and processes."""


class _Watch:
    """Notes the watched thread's system access. Adds one audit hook, as hooks stay."""

    def __init__(self) -> None:
        self.thread: int | None = None
        self.seen: list[str] = []
        self._added = False

    def __enter__(self) -> list[str]:
        if not self._added:
            self._added = True
            sys.addaudithook(self._note)
        self.seen = []
        self.thread = threading.get_ident()
        return self.seen

    def __exit__(self, *_: object) -> None:
        self.thread = None

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        # Between watches, and when the interpreter has taken its modules apart, there is no thread.
        if self.thread and self.thread == threading.get_ident() and event.startswith(_WORLD):
            self.seen.append(f"{event} {arguments!r:.200}")


_watch = _Watch()


def outcome(
    section: AnySection, file: str, text: str, *, compat: bool = False
) -> Manifest[Any] | list[str]:
    """Return the manifest in a text, or its faults, one per line."""
    try:
        return parse_manifest(text, file, compat=compat, sections=(section,))
    except ManifestError as error:
        return error.message.split("\n")


def variants(section: AnySection, text: str) -> Iterator[tuple[str, str]]:
    """Yield texts with one change each, and a description of the change."""
    data = read_toml(text)
    paths = [(section.name,), *_paths(data[section.name], (section.name,))]
    for path in paths:
        if len(path) > 1:
            yield f"without {path}", _with(data, path)
        for value in HOSTILE:
            yield f"{path} is {value!r:.60}", _with(data, path, value)
    for name in data.get("args", {}):
        yield f"without the argument {name}", _with(data, ("args", name))
        for kind in ARGUMENT_TYPES:
            yield (
                f"the argument {name} is of type {kind}",
                _with(data, ("args", name, "type"), kind),
            )
    extra = {"type": "string", "description": "Nobody uses it."}
    yield "another argument", _with(data, ("args", "an_extra_one"), extra)


class SectionSuite:
    """The behavior of a `ManifestSection`: fixtures ``section`` and ``manifests``."""

    def test_it_reads_its_own_manifests(self, section: AnySection, manifests: Manifests) -> None:
        """Each manifest offers valid tools, and the same ones every time."""
        assert manifests, "one at least"
        for file, text in manifests.items():
            first, second = (outcome(section, file, text) for _ in range(2))
            assert isinstance(first, Manifest), first
            assert isinstance(second, Manifest), second
            assert first.part is not None
            assert first.section is section
            assert first.definitions, f"{file} offers no tool"
            assert first.definitions == second.definitions
            assert toolset(first.definitions).digest == toolset(second.definitions).digest
            for definition in checked_tools(ManifestFile(first, file)):
                compile_schema(definition.input_schema)

    def test_its_name_and_keys_are_its_own(self, section: AnySection) -> None:
        """Its name is that of its own table, and of no other key of manifests."""
        assert section.name not in ManifestKeys.model_fields
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", section.name)

    def test_linking_leaves_the_files_of_others(
        self, section: AnySection, manifests: Manifests
    ) -> None:
        """It leaves the tools of other backends in the folder alone."""
        other = parse_manifest(_OTHER, "other.clad.toml")
        files = [ManifestFile(other, "other.clad.toml")]
        for file, text in manifests.items():
            files.append(ManifestFile(parse_manifest(text, file, sections=(section,)), file))
        assert linked_files(section, files)[1] == []

    def test_an_unknown_key_is_a_fault(self, section: AnySection, manifests: Manifests) -> None:
        """A mistyped key must be reported, because otherwise it would restrict nothing."""
        for file, text in manifests.items():
            found = outcome(section, file, _with(read_toml(text), (section.name, UNKNOWN), True))
            assert not isinstance(found, Manifest), f"[{section.name}] takes any key"
            assert any(f" {section.name}.{UNKNOWN}: " in line for line in found), found

    def test_hostile_values_end_in_faults(self, section: AnySection, manifests: Manifests) -> None:
        """No content raises anything else, and whatever is accepted can be offered."""
        for change, found in _outcomes(section, manifests):
            assert not isinstance(found, Exception), f"{change}: {type(found).__name__}: {found}"

    def test_a_fault_has_a_file_a_line_and_a_key(
        self, section: AnySection, manifests: Manifests
    ) -> None:
        """Each fault is one line that shows the author where it is."""
        roots = {section.name, *ManifestKeys.model_fields}
        seen = 0
        for change, lines in _outcomes(section, manifests):
            for line in lines if isinstance(lines, list) else ():
                match = _FAULT.fullmatch(line)
                assert match, f"{change}: no file, line, key and reason in {line!r}"
                file, number, key, _ = match.groups()
                assert file in manifests, change
                assert int(number) >= 1, change
                assert key.split(".")[0] in roots, f"{change}: the key {key!r} is in no file"
                seen += 1
        assert seen, "no change was a fault"

    def test_it_does_no_io(self, section: AnySection, manifests: Manifests) -> None:
        """A check uses no file, network or process, so it is the same on every machine."""
        for file, text in manifests.items():
            changed = text
            for change, changed in _few(variants(section, text)):
                _quietly(section, file, changed)  # imports what it needs, which opens files
                with _watch as seen:
                    _quietly(section, file, changed)
                assert not seen, f"{change}: {seen[0]}"
            _quietly(section, file, text)
            with _watch as seen:
                _quietly(section, file, text)
            assert not seen, f"{file}: {seen[0]}"


def _outcomes(
    section: AnySection, manifests: Manifests
) -> Iterator[tuple[str, Manifest[Any] | list[str] | Exception]]:
    """Read every variant, strictly and in the compatible mode."""
    for file, text in manifests.items():
        for change, changed in variants(section, text):
            for compat in (False, True):
                yield f"{file}: {change}", _quietly(section, file, changed, compat=compat)


def _quietly(
    section: AnySection, file: str, text: str, *, compat: bool = False
) -> Manifest[Any] | list[str] | Exception:
    """Read a text, make its tools and those of its folder; return what is raised."""
    try:
        found = outcome(section, file, text, compat=compat)
        if isinstance(found, Manifest):
            for linked in linked_files(section, [ManifestFile(found, file)])[0]:
                toolset(checked_tools(linked))
        return found
    except Exception as error:  # noqa: BLE001 - that it is any is what is tested
        return error


def _few(texts: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Return every seventh item of many, which is enough to cover each key."""
    return (found for number, found in enumerate(texts) if number % 7 == 0)


def _paths(table: Any, path: Path) -> Iterator[Path]:
    """Return the paths of all keys below a table."""
    for key, value in table.items() if isinstance(table, dict) else ():
        yield (*path, key)
        yield from _paths(value, (*path, key))


def _with(data: dict[str, Any], path: Path, *values: Any) -> str:
    """Return the document with another value at a path, or without that path."""
    changed = copy.deepcopy(data)
    table = changed
    for step in path[:-1]:
        table = table.setdefault(step, {})
    if values:
        table[path[-1]] = values[0]
    else:
        del table[path[-1]]
    return str(rtoml.dumps(changed))
