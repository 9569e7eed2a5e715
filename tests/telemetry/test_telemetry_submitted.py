"""A submitted run is one trace, whichever processes submit and execute it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from artificer.core.submission import Submission
from artificer.errors import InvalidValueError

pytestmark = pytest.mark.req("telemetry-submitted")

PROGRAM = Path(__file__).with_name("submitting.py")


def printed(setting: str) -> dict[str, Any]:
    """Of a process of its own: where spans go can be set once in each."""
    command = [sys.executable, str(PROGRAM), setting]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_spans_of_who_executes_a_run_are_below_its_submission() -> None:
    found = printed("enabled")
    traces = {trace for _, trace, _, _ in found["spans"]}
    (submitted,) = [span for span in found["spans"] if span[0] == "submit"]
    (checkout,) = [span for span in found["spans"] if span[0] == "checkout"]
    assert len(traces) == 1 and submitted[3] == checkout[2]
    assert found["recorded"]["traceparent"].startswith(f"00-{submitted[1]}-{submitted[2]}-")
    executed = [span for span in found["spans"] if span[0].startswith("invoke_agent")]
    assert [span[3] for span in executed] == [submitted[2]]
    exported = [name for name, *_ in found["spans"]]
    assert sorted(found["started"]) == sorted(exported), "none stays open"


def test_nothing_is_recorded_where_nothing_is_exported() -> None:
    found = printed("disabled")
    assert found["recorded"] == {}
    assert [name for name, *_ in found["spans"]] == ["checkout"]


@pytest.mark.parametrize("text", ["00-1-2-01", "x" * 55, f"00-{'0' * 32}-{'0' * 16}-01\n"])
def test_a_text_that_is_no_traceparent_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        Submission(traceparent=text)
