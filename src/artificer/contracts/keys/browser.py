"""What ``[browser]`` of a manifest may say (``docs/guides/browser.md``)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from artificer.contracts.definition import EffectClass, Risk
from artificer.contracts.keys.session import Seconds
from artificer.values.base import Value

Action = Literal["navigate", "click", "type", "submit", "extract", "screenshot", "script"]
"""What can be done with a page. A manifest offers those that it names as commands."""

ExtractMode = Literal["accessibility_tree", "text", "html"]


class BrowserScopeKeys(Value):
    """``[browser.scope]``: domains, or ``*.domain`` for all below one. What is blocked wins.

    With ``allow_external`` every other host of the public internet may be reached too.
    """

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    allow_external: bool = False


class BrowserCommandKeys(Value):
    """``[browser.commands.ACTION]``

    Without ``human_approval`` a person is asked before a form is submitted and a script is run,
    and before nothing else.
    """

    description: str = ""
    risk_tier: Risk | None = None
    human_approval: bool | None = None
    effect: EffectClass | None = None


class BrowserKeys(Value):
    """``[browser]``: a Chromium that is started once for a run, and used action by action."""

    engine: Literal["cdp", "cdp-direct", "playwright"] = "playwright"
    connect: Literal["launch"] = "launch"
    headless: bool = True
    extract_mode: ExtractMode = "accessibility_tree"
    startup_timeout_seconds: Seconds = 10
    session_timeout_seconds: Seconds = 600
    idle_timeout_seconds: Seconds = 120
    max_interactions: Annotated[int, Field(gt=0, le=100_000)] = 200
    scope: BrowserScopeKeys = BrowserScopeKeys()
    commands: Annotated[dict[Action, BrowserCommandKeys], Field(min_length=1)]
