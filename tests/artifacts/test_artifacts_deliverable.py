"""Narratives held against artifacts, repairs, and what is stored."""

from __future__ import annotations

import pytest
from artifact_builders import ref
from hypothesis import given, settings
from hypothesis import strategies as st

from artificer.artifacts.deliverable import (
    MAX_FINDINGS,
    MAX_NARRATIVE,
    Deliverable,
    blocking,
    dangling,
    examine,
    keeps,
    repair_request,
)
from artificer.artifacts.ref import Finding

MADE = (ref("chart", "Revenue"), ref("table", "costs"), ref("file", "specs/MVP.md"))
GOOD = (
    "See {{artifact:chart:Revenue}}, {{artifact:table:costs}} and {{artifact:file:specs/MVP.md}}."
)


def codes(narrative: str) -> list[str]:
    return [finding.code for finding in examine(narrative, MADE).findings]


@pytest.mark.req("deliverable-findings")
def test_a_narrative_whose_citations_resolve_has_no_findings() -> None:
    examined = examine(GOOD, MADE)
    assert examined.findings == ()
    assert [item.subject for item in examined.citations] == [
        "chart:Revenue",
        "table:costs",
        "file:specs/MVP.md",
    ]


@pytest.mark.req("deliverable-drift")
def test_a_citation_that_drifted_in_case_is_rewritten_and_reported() -> None:
    examined = examine("😀 {{ Artifact : CHART : REVENUE }} {{artifact:file:SPECS/mvp.md}}", MADE)
    assert examined.narrative == (
        "😀 {{ Artifact : CHART : Revenue }} {{artifact:file:specs/MVP.md}}"
    )
    assert [f.code for f in examined.findings] == ["drift", "drift", "unreferenced"]
    assert not blocking(examined.findings) and not dangling(examined.findings)
    first = examined.citations[0]
    assert examined.narrative[first.start : first.end] == "{{ Artifact : CHART : Revenue }}"


@pytest.mark.req("deliverable-drift")
def test_drift_is_rewritten_only_in_the_id() -> None:
    made = (ref("chart", "CHART"),)
    assert examine("{{artifact:chart:chart}}", made).narrative == "{{artifact:chart:CHART}}"


@pytest.mark.req("deliverable-findings")
@pytest.mark.parametrize(
    ("narrative", "code"),
    [
        (GOOD + " {{artifact:list:costs}}", "missing"),
        (GOOD + " {{artifact:table:}}", "malformed"),
        (GOOD + " {{artifact:graph:x}}", "unknown_kind"),
        (GOOD + "\n\n| a | b |\n|---|---|\n| 1 | 2 |", "markdown_table"),
        (GOOD + "\n\n- a\n- b\n  - nested", "markdown_list"),
        (GOOD + "\n\n1. a\n2. b", "markdown_list"),
        (GOOD + "\n\n> * quoted", "markdown_list"),
        (GOOD + "x" * MAX_NARRATIVE, "too_long"),
    ],
)
def test_a_fault_is_found_once_and_blocks(narrative: str, code: str) -> None:
    examined = examine(narrative, MADE)
    assert [finding.code for finding in examined.findings] == [code]
    assert len(blocking(examined.findings)) == 1
    assert dangling(examined.findings) == (not code.startswith("markdown"))
    (finding,) = examined.findings
    assert finding.start is not None and finding.end is not None
    assert 0 < finding.start < finding.end <= len(narrative)


@pytest.mark.req("deliverable-findings")
def test_code_may_show_tables_lists_and_placeholders() -> None:
    code = "\n\n```\n- a\n| a |\n|---|\n{{artifact:nope}}\n```\n\n    - a\n\n`{{artifact:nope}}`"
    assert codes(GOOD + code) == []


@pytest.mark.req("deliverable-findings")
def test_the_length_limit_counts_code_points() -> None:
    assert "too_long" not in codes("😀" * MAX_NARRATIVE)
    assert "too_long" in codes("😀" * (MAX_NARRATIVE + 1))


@pytest.mark.req("deliverable-findings")
def test_what_is_not_cited_is_reported_but_does_not_block() -> None:
    examined = examine("", MADE)
    assert [finding.code for finding in examined.findings] == ["unreferenced"] * 3
    assert not blocking(examined.findings)


@pytest.mark.req("deliverable-findings")
def test_findings_are_bounded_and_say_how_many_there_are() -> None:
    findings = examine("{{artifact:x:y}} " * 500, ()).findings
    assert len(findings) == MAX_FINDINGS
    assert findings[-1].code == "unknown_kind"
    assert str(500 - MAX_FINDINGS + 1) in findings[-1].message


@pytest.mark.req("deliverable-findings")
def test_a_fault_is_not_lost_behind_many_harmless_findings() -> None:
    narrative = "{{artifact:chart:revenue}} " * 500 + "{{artifact:pie:x}}"
    assert [f.code for f in blocking(examine(narrative, MADE).findings)] == ["unknown_kind"]


@pytest.mark.req("deliverable-findings")
@settings(deadline=None)
@given(st.text(alphabet="{}:`|\n-1. artifcREVenuhb", max_size=200))
def test_examining_twice_changes_nothing_more(text: str) -> None:
    once = examine(text + "{{artifact:chart:revenue}}", MADE)
    again = examine(once.narrative, MADE)
    assert again.narrative == once.narrative
    assert again.citations == once.citations
    assert all(finding.code != "drift" for finding in again.findings)


@pytest.mark.req("deliverable-findings")
@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="{")))
def test_a_text_without_braces_is_never_changed(text: str) -> None:
    assert examine(text, MADE).narrative == text


@pytest.mark.req("repair-keeps")
def test_a_repair_may_not_destroy_the_report() -> None:
    assert keeps(GOOD, "Sorry, done.", MADE) is not None
    reason = keeps(GOOD, GOOD.replace("{{artifact:table:costs}}", "the table of costs"), MADE)
    assert reason is not None and "table:costs" in reason
    wanted = "{{artifact:list:todo}} and some words about it"
    assert keeps(wanted, "Here are some words that are long enough, but no list.", MADE)
    long = "word " * 100
    assert keeps(long, "word " * 20, MADE) is not None


@pytest.mark.req("repair-keeps")
def test_a_repair_that_corrects_is_accepted() -> None:
    assert keeps(GOOD, GOOD + " More.", MADE) is None
    assert keeps(GOOD, GOOD.replace("Revenue", "revenue"), MADE) is None
    assert keeps(GOOD + " {{artifact:pie:x}}", GOOD + " {{artifact:chart:x}}", MADE) is None
    assert keeps("See {{artifact:list:Todo}}.", "See {{artifact:list:todo}}!", MADE) is None
    table = "Words.\n\n" + "| a | b |\n|---|---|\n" + "| some cell | other cell |\n" * 40
    assert keeps(table, "Words. {{artifact:table:costs}}", MADE) is None
    endless = GOOD + "x" * 5 * MAX_NARRATIVE
    assert keeps(endless, GOOD + "x" * (MAX_NARRATIVE // 2), MADE) is None


@pytest.mark.req("repair-request")
def test_missing_artifacts_alone_are_asked_for_without_the_text() -> None:
    narrative = GOOD + " {{artifact:list:todo}} {{artifact:list:todo}} {{artifact:file:b.md}}"
    text = repair_request(blocking(examine(narrative, MADE).findings))
    assert text.count("list:todo") == 1 and 'create_list with id "todo"' in text
    assert 'create_file with name "b.md"' in text
    assert "Do not write it again" in text


@pytest.mark.req("repair-request")
def test_faults_in_the_text_ask_for_the_whole_text() -> None:
    narrative = GOOD + " {{artifact:chart:new}} {{artifact:pie:x}}\n\n- a"
    text = repair_request(blocking(examine(narrative, MADE).findings))
    assert "create_*_chart" in text and "{{artifact:pie:x}}" in text and "create_list" in text
    assert "whole text" in text and "Do not write it again" not in text


@pytest.mark.req("deliverable-stored")
def test_a_deliverable_is_stored_and_read_back() -> None:
    deliverable = Deliverable(
        status="partial",
        narrative=GOOD,
        artifacts=MADE,
        findings=(Finding(code="missing", subject="list:x", message="m", start=1, end=2),),
        note="n",
    )
    assert Deliverable.read(deliverable.canonical()) == deliverable


@pytest.mark.req("deliverable-findings")
def test_a_citation_of_the_wrong_kind_hears_of_the_artifact_of_that_id() -> None:
    (ref,) = (ref for ref in MADE if ref.kind == "table")
    wrong = f"{{{{artifact:list:{ref.id}}}}}"
    (finding,) = examine(wrong, (ref,)).findings[:1]
    assert f"a table of that id exists: is table:{ref.id} meant?" in finding.message
    assert keeps(wrong, f"{{{{artifact:table:{ref.id}}}}}", (ref,)) is None
    assert keeps(wrong, "Sorry, done.", (ref,)) is not None
    (other,) = examine("{{artifact:list:other}}", (ref,)).findings[:1]
    assert "exists" not in other.message
