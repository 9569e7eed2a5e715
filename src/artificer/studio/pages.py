"""Pages from templates, and what every page knows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from jinja2 import Environment, PackageLoader
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from artificer.render.template import escaping
from artificer.studio.access import Actor
from artificer.studio.words import ago, clock, money, status_word, thousands, visible


def page(
    request: Request, template: str, values: Mapping[str, Any], status: int = HTTPStatus.OK
) -> Response:
    """Return a page, or a part of one."""
    actor: Actor = request.state.actor
    text = _environment().get_template(f"{template}.html").render(actor=actor, **values)
    return HTMLResponse(text, status)


@cache
def _environment() -> Environment:
    environment = escaping(PackageLoader("artificer.studio"))
    for word in (ago, clock, money, status_word, thousands, visible):
        environment.filters[word.__name__] = word
    return environment
