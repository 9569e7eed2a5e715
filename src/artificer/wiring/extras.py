"""The extras of the package: what they install, and whether it is installed."""

from __future__ import annotations

from importlib import util

EXTRAS = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("openai", "openai"),
    "local": ("xllamacpp", "xllamacpp"),
    "charts": ("vl-convert-python", "vl_convert"),
    "pdf": ("weasyprint", "weasyprint"),
    "docx": ("python-docx", "docx"),
    "xlsx": ("xlsxwriter", "xlsxwriter"),
    "http": ("httpcore2", "httpcore2"),
    "mcp": ("mcp", "mcp"),
    "sandbox": ("landlockpy", "landlockpy"),
    "cedar": ("cedarpy", "cedarpy"),
    "otel": ("opentelemetry-api", "opentelemetry"),
}
"""Each extra: its distribution and the module that is imported."""


def is_installed(extra: str) -> bool:
    """Return whether the module of an extra can be imported."""
    return util.find_spec(EXTRAS[extra][1]) is not None


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'artificer[{extra}]'"
