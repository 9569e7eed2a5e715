"""A drawing as an SVG with accessible names."""

from __future__ import annotations

from markupsafe import Markup

from artificer.render.charts.drawn import Drawing

_FONTS = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', system-ui, sans-serif"
"""Text is measured in Liberation Sans; these fonts have the same widths."""

_SVG = Markup(
    '<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    ' xmlns="http://www.w3.org/2000/svg" role="img"'
    ' aria-labelledby="{anchor}-title {anchor}-desc" font-family="{fonts}">'
    '<title id="{anchor}-title">{title}</title><desc id="{anchor}-desc">{description}</desc>'
    "{body}</svg>"
)


def accessible(drawn: Drawing, anchor: str, title: str, description: str) -> str:
    """Return the drawing as one image with a title and a description.

    The ids of both begin with ``anchor``, so that many charts fit in one page. Colours are
    attributes, which a page's style may override.
    """
    return str(
        _SVG.format(
            width=drawn.width,
            height=drawn.height,
            anchor=anchor,
            fonts=_FONTS,
            title=title,
            description=description,
            body=Markup(drawn.body),
        )
    )
