"""The message of a deliverable: the model's last words to the reader, shown above the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from markupsafe import Markup

from artificer.render.language import Language
from artificer.render.narrative import Citation, Marks, read
from artificer.render.prose import passage_html
from artificer.render.template import filled
from artificer.render.text import escape_markdown, straight


def message_html(message: str, inline: Callable[[Citation], Markup], ui: Language) -> Markup:
    """Return the message as HTML. Citations become names; no artifact is placed."""
    blocks = (
        passage_html(passage, inline, ui)
        if not passage.on_own_line
        else Markup("<p>{}</p>").format(Markup(", ").join(map(inline, passage.citations)))
        for passage in read(message, notes=False)
    )
    return filled("message", ui=ui, blocks=tuple(blocks))


def message_markdown(message: str, inline: Callable[[Citation], str]) -> Iterator[str]:
    """Yield the message as a block quote of plain text, if there is a message."""
    if not message.strip():
        return
    marks = Marks(straight(message.strip()))
    lines = (escape_markdown(line) for line in marks.text.splitlines())
    quoted = "\n".join(f"> {line}".rstrip() for line in lines)
    yield marks.pattern.sub(lambda m: inline(marks.citations[int(m[1])]), quoted)
