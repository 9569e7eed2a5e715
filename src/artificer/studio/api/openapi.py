"""The OpenAPI 3.1 document, from the declarations of the endpoints."""

from __future__ import annotations

import re
from functools import cache
from inspect import cleandoc
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from artificer import errors as err
from artificer.studio.api.declared import PREFIX, ApiEndpoint, PathName
from artificer.studio.api.endpoints import ENDPOINTS
from artificer.studio.problems import ErrorAnswer, status_of
from artificer.values.release import RELEASE

_REFERENCE = "#/components/schemas/{name}"

USUAL: tuple[type[err.ArtificerError], ...] = (
    err.AccessError,
    err.ForbiddenError,
    err.NotFoundError,
    err.OperatorError,
    err.InvalidValueError,
    err.RateLimitError,
    err.TamperedError,
    err.MissingExtraError,
)
"""The errors that any endpoint may answer."""


@cache
def document() -> dict[str, Any]:
    """Return the document."""
    types: list[type[Struct]] = [ErrorAnswer]
    types += [e.answer for e in ENDPOINTS if isinstance(e.answer, type)]
    types += [e.body for e in ENDPOINTS if e.body is not None]
    _, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(PREFIX + endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    found: dict[str, Any] = _portable(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Artificer studio",
                "version": RELEASE,
                "description": "Everything that the studio does, for programs.",
            },
            "security": [{"token": []}],
            "paths": paths,
            "components": {
                "schemas": components,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )
    return found


def _operation(endpoint: ApiEndpoint) -> dict[str, Any]:
    summary = " ".join((endpoint.work.__doc__ or "").split())
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": summary.rstrip("."),
        "description": f"Needs the right `{endpoint.scope}`.",
        "parameters": [*_path_parameters(endpoint.path), *_query_parameters(endpoint.query)],
        "responses": {
            str(int(endpoint.status)): {"description": "Done.", "content": _content(endpoint)},
            **_failures(),
        },
    }
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _reference(endpoint.body)}},
        }
    return operation


def _content(endpoint: ApiEndpoint) -> dict[str, Any]:
    if isinstance(endpoint.answer, tuple):
        return {media: {} for media in endpoint.answer}
    return {"application/json": {"schema": _reference(endpoint.answer)}}


def _failures() -> dict[str, Any]:
    codes: dict[int, list[type[err.ArtificerError]]] = {}
    for kind in USUAL:
        codes.setdefault(int(status_of_kind(kind)), []).append(kind)
    body = {"application/json": {"schema": _reference(ErrorAnswer)}}
    return {
        str(status): {"description": _described(kinds), "content": body}
        for status, kinds in sorted(codes.items())
    }


def _described(kinds: list[type[err.ArtificerError]]) -> str:
    return " ".join((kind.__doc__ or "").split("\n")[0].split(";")[0] for kind in kinds)


def status_of_kind(kind: type[err.ArtificerError]) -> int:
    """Return the status of a kind of error."""
    return int(status_of(kind.__new__(kind)))


def _path_parameters(path: str) -> list[dict[str, Any]]:
    schema = msgspec.json.schema(PathName)
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _query_parameters(kind: type[Struct]) -> list[dict[str, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "schema": _without_null(msgspec.json.schema(hints[field.name])),
        }
        for field in msgspec.structs.fields(kind)
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value as text can express it: a query has no null."""
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    return choices[0] if len(choices) == 1 else schema


def _reference(kind: type[Struct]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=kind.__name__)}


def _portable(value: Any) -> Any:
    r"""Write it for readers who do not know Python.

    The end of a pattern is ``$`` instead of ``\Z``, and a docstring's example is left out.
    """
    if isinstance(value, dict):
        found = {key: _portable(member) for key, member in value.items()}
        if isinstance(found.get("pattern"), str):
            found["pattern"] = found["pattern"].replace(r"\Z", "$")
        if isinstance(found.get("description"), str):
            found["description"] = cleandoc(found["description"]).partition("\n\n>>> ")[0]
        return found
    return [_portable(item) for item in value] if isinstance(value, list) else value
