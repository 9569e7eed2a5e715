"""Envelopes: whatever a program prints, evidence and content stay readable and bounded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.command.spec.envelope import Envelope, content_of
from artificer.contracts.evidence import MAX_CONTENT, Stream, fitted
from artificer.manifests.keys import OutputKeys
from artificer.manifests.output import parse_output

outputs = st.one_of(
    st.binary(),
    st.text().map(str.encode),
    st.sampled_from([b'"\\ud800"', b"[1e999]", b"NaN", b"\x00" * 50_000, b"\\" * 90_000]),
    st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps).map(str.encode),
    st.integers(1, 40_000).map(lambda n: json.dumps(["ä" * n]).encode()),
)


@pytest.mark.req("envelope-any-output")
@given(stdout=outputs, stderr=outputs, kind=st.sampled_from(["text", "json"]))
def test_no_output_breaks_an_envelope(stdout: bytes, stderr: bytes, kind: str) -> None:
    text = stdout.decode("utf-8", "replace")
    parsed = parse_output(OutputKeys.model_validate({"format": kind}), text, complete=True)
    envelope = Envelope(
        status="success" if parsed is None or parsed.fault is None else "error",
        tool="t",
        command=("t",),
        exit_code=0,
        stdout=Stream(text=text, size=len(stdout)),
        stderr=Stream(text=stderr.decode("utf-8", "replace"), size=len(stderr)),
        timestamp="2026-01-01T00:00:00.000+00:00",
        fault=parsed.fault if parsed else None,
    )
    content = content_of(envelope, parsed)
    assert len(content) <= 32_000
    assert json.loads(content)["status"] == envelope.status
    content.encode()
    evidence = json.loads(envelope.to_text())
    assert evidence["stdout"]["size"] == len(stdout)
    assert len(evidence["stdout"]["text"]) <= 16_100


@pytest.mark.req("envelope-any-output")
def test_short_results_are_given_whole_and_long_ones_by_head_and_tail() -> None:
    for n, whole in ((10, True), (40_000, False)):
        text = json.dumps(["x" * n])
        parsed = parse_output(OutputKeys(format="json"), text, complete=True)
        envelope = Envelope(
            status="success",
            tool="t",
            command=("t",),
            exit_code=0,
            stdout=Stream(text=text, size=len(text)),
            timestamp="2026-01-01T00:00:00.000+00:00",
        )
        content = json.loads(content_of(envelope, parsed))
        assert ("results" in content) is whole
        assert ("stdout" in content) is not whole


@pytest.mark.req("envelope-any-output")
def test_facts_that_are_too_long_themselves_come_to_an_end() -> None:
    said = json.loads(fitted({"fault": "x" * (MAX_CONTENT + 1)}, "stdout", "y" * MAX_CONTENT))
    assert len(said["fault"]) == MAX_CONTENT + 1
    assert len(said["stdout"]) < 100
