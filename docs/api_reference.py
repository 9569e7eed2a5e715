"""The reference of the studio's API, from the declarations of its endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from artificer import errors as err
from artificer.studio.api.endpoints import ENDPOINTS
from artificer.studio.api.openapi import USUAL, document, status_of_kind

_RIGHTS = {
    "read": "Reading (`read`)",
    "act": "Starting, steering and ending runs (`act`)",
    "approve": "Deciding (`approve`)",
    "admin": "The project (`admin`)",
}

_OTHERS = (
    *(err.ExistsError, err.OwnedError, err.Fenced, err.ConflictError, err.BudgetError),
    *(err.AuthorError, err.BugError),
)
"""Errors that few endpoints answer with."""


def reference() -> str:
    """Return all endpoints and errors as Markdown."""
    return "\n".join((*_endpoints(), *_types(), *_errors()))


def _endpoints() -> Iterator[str]:
    paths = document()["paths"]
    for scope, title in _RIGHTS.items():
        yield f"## {title}\n"
        yield "| request | takes | answers | |\n| --- | --- | --- | --- |"
        for endpoint in ENDPOINTS:
            if endpoint.scope == scope:
                method = endpoint.method.lower()
                operation = paths[f"/api/v1{endpoint.path}"][method]
                yield (
                    f"| `{endpoint.method} {endpoint.path}` | {_taken(operation)} "
                    f"| {_answered(operation)} | {operation['summary']}. |"
                )
        yield ""


def _taken(operation: dict[str, Any]) -> str:
    names = [p["name"] for p in operation["parameters"] if p["in"] == "query"]
    query = f"`?{'&'.join(names)}`" if names else ""
    body = operation.get("requestBody")
    return " ".join(filter(None, (query, _named(body["content"]) if body else "")))


def _answered(operation: dict[str, Any]) -> str:
    (status,) = (code for code in operation["responses"] if code.startswith("2"))
    return f"{status} {_named(operation['responses'][status]['content'])}"


def _named(content: dict[str, Any]) -> str:
    schema = next(iter(content.values())).get("schema")
    if schema is not None:
        name = schema["$ref"].rpartition("/")[2]
        return f"`{name}`"
    return ", ".join(f"`{media}`" for media in content)


def _types() -> Iterator[str]:
    kinds = {e.answer for e in ENDPOINTS if isinstance(e.answer, type)}
    kinds |= {e.body for e in ENDPOINTS if e.body is not None}
    schemas = document()["components"]["schemas"]
    yield "## Types\n\n| type | members | |\n| --- | --- | --- |"
    for name in sorted(kind.__name__ for kind in kinds):
        schema = schemas[name]
        needed = set(schema.get("required", ()))
        members = ", ".join(
            f"`{member}`" + ("" if member in needed else "?") for member in schema["properties"]
        )
        text = " ".join(schema.get("description", "").replace("``", "`").split())
        yield f"| `{name}` | {members} | {text} |"
    yield "\nA member with a question mark may be left out.\n"


def _errors() -> Iterator[str]:
    yield "## Errors\n\n| status | code | |\n| --- | --- | --- |"
    for kind in sorted((*USUAL, *_OTHERS), key=status_of_kind):
        text = (kind.__doc__ or "").split("\n")[0].replace("``", "`").rstrip(".")
        yield f"| {status_of_kind(kind)} | `{kind.code}` | {text}. |"
