"""Outputs: each format read strictly, nothing guessed, nothing that breaks the reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.contracts.evidence import Parsed
from artificer.contracts.schema import compile_schema
from artificer.manifests.keys import OutputKeys
from artificer.manifests.output import parse_output
from artificer.manifests.output_formats import READERS
from artificer.manifests.parse import parse_manifest

pytestmark = pytest.mark.req("output-formats")


def read(kind: str, text: str, **more: Any) -> Parsed:
    parsed = parse_output(OutputKeys.model_validate({"format": kind, **more}), text, complete=True)
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("kind", "text", "results"),
    [
        ("json", '{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        ("jsonl", '{"a": 1}\n\n[2]\n', [{"a": 1}, [2]]),
        ("jsonl", "", []),
        ("csv", "z,n\n00501,1e3\ntrue,\n", [{"z": "00501", "n": "1e3"}, {"z": "true", "n": ""}]),
        ("csv", "a\tb\nx,y\tz\n", [{"a": "x,y", "b": "z"}]),
        ("csv", "a|b\r\n1|2\r\n", [{"a": "1", "b": "2"}]),
        ("csv", 'a,b\n"x\ny",2\n', [{"a": "x\ny", "b": "2"}]),
        ("csv", "a,b\n1\n", [{"a": "1", "b": None}]),
        ("csv", "a\nx\u2028y\x0bz\r2", [{"a": "x\u2028y\x0bz"}, {"a": "2"}]),
        ("csv", "", []),
        ("csv", "\ufeffa,b\n1,2\n", [{"a": "1", "b": "2"}]),
        (
            "xml",
            '<?xml version="1.0"?><r a="1">t<x>1</x><x>2</x><y/>&lt;</r>',
            {"r": {"@a": "1", "#text": "t<", "x": [{"#text": "1"}, {"#text": "2"}], "y": {}}},
        ),
    ],
)  # fmt: skip
def test_what_each_format_says(kind: str, text: str, results: Any) -> None:
    parsed = read(kind, text)
    assert (parsed.results, parsed.fault) == (results, None)
    assert parsed.data is not None and json.loads(parsed.data) == results


BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><a>&c;</a>'


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("json", "NaN", "NaN is not JSON"),
        ("json", "[" * 200_000, "the output is not JSON"),
        ("jsonl", '{"a": 1}\n{', "line 2"),
        ("csv", "a,b\n1,2,3\n", "row 2 has 3 values for 2 columns"),
        ("csv", "a,a\n1,2\n", "two columns have the same name"),
        ("csv", 'a\n"open', "not CSV"),
        ("xml", BOMB, "a document type is not allowed"),
        ("xml", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "a document type is not allowed"),
        ("xml", "<a>&undefined;</a>", "undefined entity"),
        ("xml", "<a>" * 300 + "</a>" * 300, "nested more than 200 deep"),
        ("xml", "no xml", "not XML"),
        ("xml", "", "not XML"),
    ],
)
def test_what_cannot_be_read_is_a_fault(kind: str, text: str, words: str) -> None:
    assert words in (read(kind, text).fault or "")


@given(st.sampled_from(sorted(READERS)), st.text())
def test_any_text_is_read_or_a_fault(kind: str, text: str) -> None:
    parsed = read(kind, text)
    assert parsed.fault or parsed.results is not None or text.strip() == "null"


def test_results_are_held_to_the_schema_and_a_cut_output_is_not_read() -> None:
    assert "breaks its schema" in (read("csv", "a\n1\n", schema={"maxItems": 0}).fault or "")
    cut = parse_output(OutputKeys(format="xml"), "<a>", complete=False)
    assert cut == Parsed(fault="the output is too long to be read as XML")


def test_a_builtin_parser_beats_the_format() -> None:
    assert read("text", "[1]", parser="builtin:json").results == [1]


def test_the_output_schema_admits_every_status() -> None:
    head = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n[command]\nexec = ["p"]\n'
    rule = '[output]\nformat = "json"\nschema = {type = "array"}\n'
    schema = parse_manifest(head + rule, "t").output_schema
    assert schema is not None
    check = compile_schema(schema).problems
    for content in (
        {"status": "success", "exit_code": 0, "results": [1]},
        {"status": "success", "exit_code": 0, "stdout": "too long"},
        {"status": "error", "exit_code": 3, "stdout": "", "stderr": "why", "notes": ["n"]},
        {"status": "error", "exit_code": None, "fault": "x", "stdout": ""},
        {"status": "timeout", "exit_code": None, "fault": "x", "stdout": ""},
    ):
        assert check(content) == ()
    assert check({"status": "success", "exit_code": 0, "results": {}})
    assert check({"status": "other", "exit_code": 0})
    assert check({"status": "success", "exit_code": 0, "stdout": 1})
    assert check({"status": "success", "exit_code": 0, "more": "x"})
    assert parse_manifest(head + "[output]\nenvelope = false", "t").output_schema is None
