"""Output: drawings, pages, charts, narratives. A result that passed passes again, unchanged."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from artifact_builders import MINIMAL
from build_artifact_builders import VALID
from fuzz_kit import bounded, corpus, declared, fuzz, trees
from hypothesis import given
from hypothesis import strategies as st
from render_page import parse
from render_sample import CALLS, NARRATIVE, report
from test_artifacts_svg import assert_harmless
from test_render_hostile import HOSTILE, assert_inert

from artificer.artifacts import build_catalog, catalog
from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.build_catalog import BuildArtifact
from artificer.artifacts.deliverable import examine
from artificer.artifacts.file import TextFile
from artificer.artifacts.placeholder import find
from artificer.artifacts.svg.rebuild import rebuild
from artificer.backends.artifact import offered
from artificer.contracts.schema import compile_schema
from artificer.errors import InvariantError
from artificer.render.build_artifacts import build_artifact_markdown
from artificer.render.charts import to_svg, vega_lite
from artificer.render.html import to_html
from artificer.render.markdown import to_markdown
from artificer.values.strict_json import parse_object

CASES = Path(__file__).parents[1] / "cases" / "artifacts"
DRAWINGS = [
    case["markup"]
    for name in ("svg_attacks", "svg_benign")
    for case in json.loads((CASES / f"{name}.json").read_text("utf-8"))
    if len(case["markup"]) < 20_000
]
NARRATIVES = (
    NARRATIVE,
    *HOSTILE,
    "| a | b |\n|---|---|\n| 1 | {{artifact:table:t}} |\n\n1. x\n   - y\n\n```py\nz\n```\n",
    "[a](https://e.org 't') <https://e.org> ![x](y) **b** _c_ `d` ~~e~~ \\{{artifact:a:b}}",
)


@pytest.mark.req("fuzz-shown")
@given(corpus(*DRAWINGS))
@fuzz(150)
def test_a_drawing_is_refused_or_harmless_and_passes_again(markup: str) -> None:
    result = declared(rebuild, markup, "x-")
    if isinstance(result, str):
        assert_harmless(result)
        again = rebuild(result, "")
        assert isinstance(again, str)
        assert rebuild(again, "") == again


@pytest.mark.req("fuzz-shown")
@given(corpus(*NARRATIVES), st.booleans())
@fuzz(25)
def test_a_narrative_is_inert_on_its_page(text: str, whole: bool) -> None:
    text = text.encode("utf-8", "replace").decode()[:60_000]
    with bounded():
        find(text)
        examine(text, ())
        shown = report(text, CALLS[:3] if whole else [])
        page = to_html(shown)
        to_markdown(shown)
    assert_inert(parse(page))


def made(tool: str, value: Any) -> Artifact | None:
    """The artifact of a call that the gate lets through."""
    arguments = parse_object(json.dumps(value))
    if isinstance(arguments, tuple):
        return None
    definition = next(t for t in offered.tools() if t.name == tool)
    with bounded():
        found = compile_schema(definition.input_schema).problems(arguments)
        if found or catalog.check(tool, arguments, ()):
            return None
        catalog.identity(tool, arguments)
        artifact = catalog.load(tool, arguments)
        catalog.describe(tool, artifact)
    return artifact


@pytest.mark.req("fuzz-shown")
@pytest.mark.parametrize("tool", [*MINIMAL])
def test_an_artifact_is_refused_or_shown(tool: str) -> None:
    seeds = [MINIMAL[tool], *(a for name, a in CALLS if name == tool)]

    @given(trees(*seeds))
    @fuzz(16)
    def check(value: Any) -> None:
        artifact = made(tool, value)
        if artifact is None:
            return
        with bounded():
            shown = report("Words.", [(tool, value)])
            assert_inert(parse(to_html(shown)))
            to_markdown(shown)
            if not isinstance(artifact, TextFile) and tool.endswith("_chart"):
                with contextlib.suppress(InvariantError):  # what cannot be drawn is shown as data
                    json.dumps(vega_lite(artifact), allow_nan=False)
                    assert isinstance(to_svg(artifact), str)

    check()


@pytest.mark.req("fuzz-shown")
@pytest.mark.parametrize("kind", [*VALID])
def test_an_artifact_of_a_build_is_refused_or_kept(kind: Any) -> None:
    tool = build_catalog.tool_for(build_catalog.RequiredArtifact(kind=kind))

    @given(trees(VALID[kind]))
    @fuzz(16)
    def check(value: Any) -> None:
        arguments = parse_object(json.dumps(value))
        if isinstance(arguments, tuple):
            return
        with bounded():
            problems = (
                *compile_schema(tool.input_schema).problems(arguments),
                *build_catalog.check(tool.name, arguments),
            )
        if problems:
            return
        stored: BuildArtifact = build_catalog.store(tool.name, arguments)
        assert build_catalog.read(kind, stored.canonical()) == stored
        build_catalog.identity(tool.name, arguments)
        build_catalog.describe(tool.name, stored)
        build_artifact_markdown(stored)

    check()
