"""Stored artifacts and their Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from artificer.artifacts import build_catalog
from artificer.artifacts.plan import Plan
from artificer.render.build_artifacts import build_artifact_markdown
from artificer.runtime.builds.views import write_artifact
from artificer.values.canon import canonical, digest_of

PLAN: dict[str, Any] = {
    "title": "Add log-in",
    "overview": "People log in.\n\n# Not a heading\n- not a list\n<script>x</script>",
    "specs": [
        {"name": "db-schema", "title": "Schema", "description": "Tables for tokens."},
        {
            "name": "endpoints",
            "title": "End`points`",
            "description": "Log in and out.",
            "dependencies": ["db-schema"],
        },
    ],
    "non_goals": ["Social log-in"],
}

MARKDOWN = """\
# Add log-in

## Overview

People log in.

\\# Not a heading\x20\x20
\\- not a list\x20\x20
&lt;script\\>x&lt;/script\\>

## Specs

### 1. Schema

**Name:** `db-schema`

Tables for tokens.

### 2. End\\`points\\`

**Name:** `endpoints`

Log in and out.

**Dependencies:** `db-schema`

## Non-Goals

- Social log-in
"""


def plan() -> Plan:
    made = build_catalog.store("create_plan", PLAN)
    assert isinstance(made, Plan)
    return made


@pytest.mark.req("plan-views")
def test_the_view_of_a_plan_has_the_seeds_layout_and_no_markdown_of_the_model() -> None:
    assert build_artifact_markdown(plan()) == MARKDOWN


@pytest.mark.req("plan-views")
def test_every_member_of_a_spec_a_phase_and_a_judgement_is_shown() -> None:
    texts = {
        "create_spec": {
            "name": "auth",
            "title": "T1",
            "overview": "O2",
            "phases": [
                {
                    "name": "p-3",
                    "title": "T4",
                    "description": "D5",
                    "files": ["f6.py"],
                    "validation": "V7",
                }
            ]
            * 3,
            "acceptance_criteria": ["A8"],
            "test_strategy": "S9",
        },
        "create_phase": {
            "name": "p-1",
            "title": "T2",
            "objective": "O3",
            "tasks": [{"description": "D4", "file": "f5.py", "action": "modify"}],
            "validation_command": "V6",
            "success_criteria": ["C7"],
        },
        "submit_verdict": {
            "verdict": "reject",
            "criteria": [{"criterion": 1, "met": False, "evidence": "E1"}],
            "problems": ["P2"],
            "advice": ["A3"],
        },
    }
    for tool, arguments in texts.items():
        text = build_artifact_markdown(build_catalog.store(tool, arguments))
        leaves = [leaf for leaf in _leaves(arguments) if leaf != "reject"]
        assert [leaf for leaf in leaves if leaf not in text] == []


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value] if isinstance(value, str) else []


@pytest.mark.req("plan-stored")
def test_both_forms_are_written_and_the_json_is_the_whole_artifact(tmp_path: Path) -> None:
    files = write_artifact(tmp_path / "runs" / "r1", "r1", "plan", plan(), at=1_700_000_000_000)
    assert files.json == tmp_path / "runs" / "r1" / "artifacts" / "plan.json"
    assert files.markdown.read_text() == MARKDOWN
    written = json.loads(files.json.read_text())
    assert written["created_at"] == 1_700_000_000_000 and written["run"] == "r1"
    assert [s["name"] for s in written["specs"]] == ["db-schema", "endpoints"]
    own = {n: v for n, v in written.items() if n not in ("created_at", "digest", "run")}
    assert build_catalog.read("plan", canonical(own)) == plan()
    assert digest_of(canonical(own)) == written["digest"]


@pytest.mark.req("plan-stored")
def test_writing_again_replaces_both_forms_and_leaves_nothing_beside(tmp_path: Path) -> None:
    write_artifact(tmp_path, "r1", "plan", plan(), at=1)
    other = build_catalog.store("create_plan", {**PLAN, "title": "Other"})
    write_artifact(tmp_path, "r1", "plan", other, at=2)
    folder = tmp_path / "artifacts"
    assert sorted(path.name for path in folder.iterdir()) == ["plan.json", "plan.md"]
    assert json.loads((folder / "plan.json").read_text())["digest"] == digest_of(other.canonical())
