"""The tools that a ``[browser]`` declares, and where its pages may come from."""

from __future__ import annotations

from collections.abc import Iterator

from artificer.contracts.addresses import ip_of, is_host
from artificer.contracts.arguments.check import Fault
from artificer.contracts.definition import EffectClass, ToolDefinition, open_object, trust_of
from artificer.contracts.keys.browser import Action, BrowserKeys, BrowserScopeKeys
from artificer.contracts.keys.manifest import ManifestKeys, ToolKeys
from artificer.contracts.scope import host_matches
from artificer.values.base import JsonObject

ENDING_SECONDS = 5
"""What a call may take beyond its time, to end the browser."""

_SELECTOR: JsonObject = {
    "type": "string",
    "minLength": 1,
    "maxLength": 1_000,
    "description": "A CSS selector, or a role and a name: role=button[name='Send'].",
}
_TEXT: JsonObject = {"type": "string", "maxLength": 20_000}
_MODES: JsonObject = {"type": "string", "enum": ["accessibility_tree", "text", "html"]}

_ACTIONS: dict[Action, tuple[str, EffectClass, JsonObject]] = {
    "navigate": (
        "Open an address.",
        "idempotent",
        open_object(url={"type": "string", "pattern": "^https?://", "maxLength": 8_000}),
    ),
    "click": (
        "Click an element; submit sends forms.",
        "once",
        open_object(selector=_SELECTOR),
    ),
    "type": (
        "Put text into a field, in place of what is there.",
        "idempotent",
        open_object(selector=_SELECTOR, text=_TEXT),
    ),
    "submit": (
        "Send the form that an element is, or belongs to.",
        "once",
        open_object(selector=_SELECTOR),
    ),
    "extract": ("Read the page, or an element of it.", "pure", {}),
    "screenshot": ("Keep a picture of the page.", "pure", open_object()),
    "script": (
        "Run JavaScript in the page.",
        "once",
        open_object(code=_TEXT),
    ),
}
_ASKED: tuple[Action, ...] = ("submit", "script")


def browser_definitions(tool: ToolKeys, browser: BrowserKeys) -> dict[Action, ToolDefinition]:
    """The tools of a browser that has no faults, in the manifest's order."""
    return {action: _definition(tool, browser, action) for action in browser.commands}


def _definition(tool: ToolKeys, browser: BrowserKeys, action: Action) -> ToolDefinition:
    keys = browser.commands[action]
    told, effect, schema = _ACTIONS[action]
    if action == "extract":
        mode = {**_MODES, "default": browser.extract_mode}
        schema = {**open_object(mode=mode, selector=_SELECTOR), "required": []}
    asked = action in _ASKED if keys.human_approval is None else keys.human_approval
    seconds = browser.startup_timeout_seconds + tool.timeout_seconds + ENDING_SECONDS
    return ToolDefinition(
        name=f"{tool.name}.{action}",
        description=f"{keys.description or told} (In the browser {tool.name}: {tool.description})",
        input_schema=schema,
        effect=keys.effect or effect,
        risk=keys.risk_tier or tool.risk_tier,
        human_approval=asked or tool.human_approval,
        timeout_ms=seconds * 1000,
        backend="browser",
        trust=trust_of("browser", tool.trust),
        sensitive=tool.sensitive,
        cedar=tool.cedar,
    )


def browser_faults(keys: ManifestKeys) -> Iterator[Fault]:
    """What is wrong with a manifest's ``[browser]``, if it has one."""
    browser = keys.browser
    if keys.tool.mode == "browser" and browser is None:
        yield Fault(("tool", "mode"), "is 'browser', but there is no [browser]")
    if browser is None:
        return
    if keys.tool.mode not in (None, "browser"):
        yield Fault(("tool", "mode"), f"is {keys.tool.mode!r}, but there is a [browser]")
    if keys.args:
        yield Fault(("args",), "means nothing here: actions have arguments of their own")
    if len(keys.tool.name) > 50:
        yield Fault(("tool", "name"), "is too long to be followed by the name of an action")
    where = ("browser", "scope")
    scope = browser.scope
    if not scope.allowed_domains and not scope.allow_external:
        yield Fault((*where, "allowed_domains"), "is missing: nothing could be reached")
    for key in ("allowed_domains", "blocked_domains"):
        for domain in getattr(scope, key):
            if not (ip_of(domain) or is_host(domain.removeprefix("*."))):
                yield Fault((*where, key), f"{domain!r} is no domain, '*.domain' or address")


def host_refusal(scope: BrowserScopeKeys, host: str) -> str | None:
    """Why a host may not be reached, or None."""
    if any(host_matches(host, pattern) for pattern in scope.blocked_domains):
        return "is blocked"
    if scope.allow_external or any(host_matches(host, p) for p in scope.allowed_domains):
        return None
    return "is not an allowed domain"


def is_named(scope: BrowserScopeKeys, host: str) -> bool:
    """Whether a host is allowed by its very name: then it may also be one of a private network."""
    plain = (domain for domain in scope.allowed_domains if not domain.startswith("*"))
    return any(host_matches(host, domain) for domain in plain)
