"""Styles and scripts of the studio, at an address that changes when one of them does."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from artificer.render.stylesheet import tokens

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_KEPT = {"Cache-Control": "max-age=31536000, immutable"}
"""For what never changes at its address, and is the same for everybody."""


@cache
def asset_root() -> str:
    """Return the address below which they are: they import each other, so it is one for all."""
    return f"/static/{version_of(_assets())}"


def version_of(assets: Mapping[str, bytes]) -> str:
    """Return a digest of all names and contents."""
    digest = sha256()
    for name, content in assets.items():
        digest.update(sha256(name.encode()).digest() + sha256(content).digest())
    return digest.hexdigest()[:16]


@cache
def _assets() -> Mapping[str, bytes]:
    """Return all of them by their names, with what reports and the studio share."""
    files = sorted(Path(__file__).with_name("static").iterdir())
    return {"tokens.css": tokens().encode(), **{file.name: file.read_bytes() for file in files}}


async def _asset(request: Request) -> Response:
    """Answer with one of them. The page of another release gets ours, and does not keep it."""
    name, address = request.path_params["name"], request.url.path
    if name not in _assets():
        raise HTTPException(HTTPStatus.NOT_FOUND)
    kept = _KEPT if address == f"{asset_root()}/{name}" else {}
    return Response(_assets()[name], media_type=_TYPES[Path(name).suffix], headers=kept)


ASSETS = Route("/static/{version}/{name}", _asset)
