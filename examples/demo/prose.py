"""The grammar of the page's text: one or two sentences for each slot, without digits.

The model picks among these sentences, each of which is true for any checkout. A model of 135
million parameters would invent facts if it wrote freely: here it only chooses, and the page says
so.
"""

from __future__ import annotations

SPANS = ("hour", "day", "week")


def grammar(*, shallow: bool, history: bool) -> str:
    """Return the rules for the sentences before each figure. `artificer` adds the root."""
    rules = {
        "opening": 'title "\\n\\n" lead',
        "title": '"# " ("This checkout in figures" | "What is in this checkout" | "A portrait of'
        ' this checkout" | "This checkout, counted")',
        "lead": '("Two tools counted all this in your checkout" | "All this was counted in your'
        ' checkout by two tools") ". No model typed a number."',
        **{f"about-chart-{span}s": _past(span, shallow=shallow) for span in SPANS},
        "about-chart-languages": '("Some languages fill more of it than others" | "The bars'
        ' compare the languages") (", drawn to one scale." | ", side by side.")',
        "about-chart-folders": '("Here are the folders" | "The folders differ in size") (", drawn'
        ' to one scale." | ", side by side.")',
        "about-chart-largest": '("A few files are much longer than the rest" | "These are the'
        ' longest files") (", and here they stand side by side." | " of the checkout.")',
        "about-table-languages": '("Language by language" | "In detail, by language") ":"',
        "about-table-folders": '("Folder by folder" | "In detail, by folder") ":"',
        "about-table-largest": '("File by file" | "The longest files in detail") ":"',
        **{f"about-table-{span}s": '"The history in detail:"' for span in SPANS},
        "about-value-files": '("Files in all" | "Files counted") ":"',
        "about-value-text-files": '("Of them text" | "Files that are text") ":"',
        "about-value-lines": '("Lines of text" | "Lines in all") ":"',
        "about-value-commits": '("Commits" | "Commits so far") ":"',
        "closing": f'"## What the model did" "\\n\\n" {_quoted(_forced(history))}',
    }
    return "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())


def _past(span: str, *, shallow: bool) -> str:
    if shallow:
        return '"Git was given only the last part of the history, so earlier work is missing here."'
    return (
        f'("Work as it was committed, {span} by {span}" | "The commits of each {span}")'
        ' (", with the pauses in between." | "; where nothing happened, the line is at zero.")'
    )


def _forced(history: bool) -> str:
    git = "" if history else " Git or its history is not here, so the page has no past."
    return (
        "A model of a hundred million parameters was told which tool to call in each turn. It chose"
        " what to show, and its words among prepared ones." + git
    )


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
