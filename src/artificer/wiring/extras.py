"""The extras of the package: what they install, and whether it is installed."""

from __future__ import annotations

from importlib import metadata, util

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
    "browser": ("playwright", "playwright"),
    "studio": ("starlette", "starlette"),
    "postgres": ("psycopg", "psycopg"),
    "s3": ("obstore", "obstore"),
    "temporal": ("temporalio", "temporalio"),
    "sandbox": ("landlockpy", "landlockpy"),
    "cedar": ("cedarpy", "cedarpy"),
    "otel": ("opentelemetry-api", "opentelemetry"),
    "signatures": ("cryptography", "cryptography"),
    "pydantic-ai": ("pydantic-ai-slim", "pydantic_ai"),
    "langgraph": ("langgraph", "langgraph"),
    "openai-agents": ("openai-agents", "agents"),
}
"""Each extra: its distribution and the module that is imported."""


def is_installed(extra: str) -> bool:
    """Return whether the module of an extra can be imported."""
    return util.find_spec(EXTRAS[extra][1]) is not None


def version_of(extra: str) -> str:
    """Return the version of an extra's distribution; empty when it is not installed.

    A module of its name does not say that it is: it may be a folder of the user's own.
    """
    try:
        return metadata.version(EXTRAS[extra][0])
    except metadata.PackageNotFoundError:
        return ""


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'artificer[{extra}]'"
