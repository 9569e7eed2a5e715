"""Which text is the report; fences and seams. Properties over texts that models may write."""

from __future__ import annotations

import pytest
from artifact_builders import ref
from hypothesis import given, settings
from hypothesis import strategies as st

from artificer.artifacts.deliverable import examine
from artificer.artifacts.fence import unwrapped
from artificer.artifacts.revision import Candidate, choose
from artificer.artifacts.seam import joined
from artificer.artifacts.withdraw import Withdrawal, problems

MADE = (ref("list", "a"), ref("chart", "B"), ref("file", "notes/c.md"))
CITES = ("{{artifact:list:a}}", "{{artifact:chart:B}}", "{{artifact:file:notes/c.md}}")

texts = st.lists(
    st.sampled_from(
        [*CITES, "words and more words ", "\n\n", "# A heading\n", "{{artifact:svg:no}}"]
    ),
    max_size=8,
).map("".join)
candidates = st.lists(st.builds(Candidate, text=texts, final=st.booleans()), max_size=4)


def cited(text: str) -> set[str]:
    return {item.subject for item in examine(text, MADE).citations}


@pytest.mark.req("report-follow-up")
@settings(deadline=None)
@given(texts.filter(str.strip), candidates, texts)
def test_a_kept_report_loses_a_citation_only_by_withdrawing(
    kept: str, between: list[Candidate], reply: str
) -> None:
    assert cited(choose(kept, between, reply, MADE).narrative) >= cited(kept)
    gone = (Withdrawal(kind="list", id="a"),)
    after = choose(kept, between, reply, MADE, gone).narrative
    assert cited(after) >= cited(kept) - {"list:a"}


@pytest.mark.req("report-beside-calls")
@settings(deadline=None)
@given(candidates, texts)
def test_what_a_last_reply_drops_is_kept_or_asked_about(
    between: list[Candidate], reply: str
) -> None:
    between = [candidate.replace(final=False) for candidate in between]
    choice = choose("", between, reply, MADE)
    dropped = set().union(*(cited(candidate.text) for candidate in between)) - cited(reply)
    if choice.last and len(between) == 1:
        assert not dropped
    assert choice.last or not reply.strip() or choice.rejected


@pytest.mark.req("report-fence")
@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```markdown\n# A\n\nText.\n```", "# A\n\nText."),
        (
            "```md\n# A\n\n```python\nx = 1\n```\n\nMore.\n```",
            "# A\n\n```python\nx = 1\n```\n\nMore.",
        ),
        ("````\n# A\n\n```\ncode\n```\n````", "# A\n\n```\ncode\n```"),
        ("```\r\n# A\r\n```\r\n", "# A"),
        (f"So:\n~~~\n{CITES[0]}", CITES[0]),
        ("```python\nprint(1)\n```", None),
        ("```\nprint(1)\n```", None),
        ("Look:\n```markdown\n# A\n```", None),
        (f"{CITES[1]}\n```\n{CITES[0]}\n```", None),
        (f"{'Long prose. ' * 30}\n```\n{CITES[0]}\n```", None),
        ("No fence at all.", None),
        ("```", None),
    ],
)
def test_a_report_is_taken_out_of_the_one_fence_around_it(text: str, inside: str | None) -> None:
    assert unwrapped(text) == inside


@pytest.mark.req("report-fence")
@settings(deadline=None)
@given(st.text(alphabet="`~ a#\n{}:", max_size=120))
def test_what_is_taken_out_was_there(text: str) -> None:
    inside = unwrapped(text)
    assert inside is None or inside in text


@pytest.mark.req("report-continued")
def test_the_seam_shows_no_sentence_twice() -> None:
    text = "The first sentence is here. The second one goes on for a while and is cut"
    assert joined(text, " off here.") == text + " off here."
    again = "The second one goes on for a while and is cut off here."
    assert joined(text, again) == text + " off here."
    assert joined(text, "") == text
    assert joined("", text) == text


@pytest.mark.req("report-continued")
@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["One. ", "Two lines\nof it. ", "This is a longer sentence. "])),
    st.integers(0, 99),
)
def test_a_text_that_repeats_itself_loses_nothing_at_the_seam(words: list[str], at: int) -> None:
    text = "".join(words)
    assert joined(text[:at], text[at:]) == text


@pytest.mark.req("report-follow-up")
def test_only_an_id_in_another_case_is_a_slip() -> None:
    assert problems({"kind": "chart", "id": "B"}, MADE) == ()
    assert problems({"kind": "chart", "id": "never"}, MADE) == ()
    (slip,) = problems({"kind": "chart", "id": "b"}, MADE)
    assert "'B'" in slip.message
