"""Reports in clients that show MCP Apps: a page for each, and an app that shows a result's page.

The pages are those that `artificer open` shows. The app is ours and always the same: it asks its
client for the report that a result names, and puts it in its own place. Its policy lets its own
script run and no other one, and fetches nothing, whatever a report holds. Source: the extension
``io.modelcontextprotocol/ui`` (SEP-1865), version 2026-01-26.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import Any

from artificer.cli import mcp
from artificer.render.stylesheet import stylesheet
from artificer.system.files import packaged

EXTENSION = "io.modelcontextprotocol/ui"

MIME_TYPE = "text/html;profile=mcp-app"

APP = "ui://artificer/report"
"""The app that shows the report of a result."""

REPORT = "ui://artificer/report/"
"""Where the addresses of reports begin; the run's id follows."""

REPORT_KEY = "artificer/report"
"""Where a result names its report, in ``_meta``."""

UI: dict[str, Any] = {
    "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": False}
}
"""The ``_meta`` of both: they need nothing from anywhere."""


@cache
def app_page() -> str:
    """Return the app as one page."""
    script, style = packaged(mcp, "report_app.js"), stylesheet("report.css")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_source(script)}",
            f"style-src {_source(style)}",
            "img-src data:",
            "form-action 'none'",
            "base-uri 'none'",
        )
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        "<title>Report</title></head>"
        f"<body><p>The report appears here.</p><script>{script}</script></body></html>\n"
    )


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
