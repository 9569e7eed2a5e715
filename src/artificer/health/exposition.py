"""Metrics as text, in the format that Prometheus reads (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(Struct, frozen=True):
    """A metric: its values by that of one label, or one value under the empty label."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    values: Mapping[str, float]
    label: str = ""


def single(name: str, kind: Literal["counter", "gauge"], help: str, value: float) -> Metric:
    """Return a metric without a label."""
    return Metric(name, kind, help, {"": value})


def exposition(metrics: Iterable[Metric]) -> str:
    """Return metrics as text."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterable[str]:
    yield f"# HELP {metric.name} {_escaped(metric.help)}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for label, value in sorted(metric.values.items()):
        name = f'{{{metric.label}="{_escaped(label)}"}}' if metric.label else ""
        yield f"{metric.name}{name} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
