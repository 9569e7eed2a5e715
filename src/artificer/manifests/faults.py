"""Messages for keys that cannot be read, and the key that an author probably meant."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from artificer.contracts.arguments.check import Fault
from artificer.contracts.arguments.keys import ArgumentKeys
from artificer.contracts.arguments.types import ARGUMENT_TYPES
from artificer.manifests.custom_types import CustomType
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.registry import BACKENDS, Sections
from artificer.manifests.toml_lines import Path


def fault_of(detail: Any, sections: Sections, types: Mapping[str, CustomType]) -> Fault:
    """Return the fault that one error of pydantic is."""
    path = tuple(str(step) for step in detail["loc"])
    kind, found = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        known = meant(path, sections)
        hint = f"; did you mean {known!r}?" if known else ""
        return Fault(path, f"is not a known key{hint}")
    if kind == "missing":
        return Fault(path, "is missing")
    if kind == "literal_error" and isinstance(found, str):
        expected = detail["ctx"]["expected"]
        choices = expected.split("'")[1::2]
        if path[0] == "args" and path[-1] == "type":
            choices = [*ARGUMENT_TYPES, *types]
            expected += ", and no type of a toolclad.toml next to the manifest or above"
        near = get_close_matches(found, choices, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return Fault(path, f"{found!r} is not one of {expected}{hint}")
    return Fault(path, detail["msg"])


def meant(path: Path, sections: Sections) -> str | None:
    """Return the known key that an unknown one was probably meant to be."""
    return next(iter(get_close_matches(path[-1], _known_keys(path, sections), n=1)), None)


def _known_keys(path: Path, sections: Sections) -> list[str]:
    if path[-3:-2] == ("args",):
        return sorted({*ArgumentKeys.model_fields, "min_float", "max_float"} - {"name"})
    if len(path) == 1:
        return [*ManifestKeys.model_fields, *BACKENDS.names]
    model: Any = ManifestKeys
    steps = path[:-1]
    if path[0] in sections:
        model, steps = sections[path[0]].keys, path[1:-1]
    for step in steps:
        field = getattr(model, "model_fields", {}).get(step)
        model = _model_in(field.annotation) if field else model  # the key of a dictionary
    fields = getattr(model, "model_fields", {})
    return [field.alias or name for name, field in fields.items()]


def _model_in(annotation: Any) -> Any:
    """The model of an annotation such as ``ProbeKeys | None``."""
    choices = (annotation, *getattr(annotation, "__args__", ()))
    return next((choice for choice in choices if hasattr(choice, "model_fields")), None)
