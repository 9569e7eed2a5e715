"""The message of a deliverable: what the model said to the reader last, shown above the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from artificer.render.narrative import Citation, Marks, read
from artificer.render.prose import passage_html
from artificer.render.text import clean, escape_markdown

Inline = Callable[[Citation], str]
"""Returns the words by which a sentence names an artifact that it cites."""


def message_html(message: str, inline: Inline) -> str:
    """The message as HTML. It names artifacts and places none."""
    body = "\n".join(
        passage_html(passage, inline)
        if not passage.alone
        else f"<p>{', '.join(map(inline, passage.citations))}</p>"
        for passage in read(message)
    )
    return f'<aside class="message" aria-label="Message">\n{body}\n</aside>'


def message_markdown(message: str, inline: Inline) -> Iterator[str]:
    """The message as a quotation, if there is one: plain text, whatever Markdown it was."""
    if not message.strip():
        return
    marks = Marks(clean(message.strip()))
    lines = (escape_markdown(line) for line in marks.text.splitlines())
    quoted = "\n".join(f"> {line}".rstrip() for line in lines)
    yield marks.pattern.sub(lambda m: inline(marks.citations[int(m[1])]), quoted)
