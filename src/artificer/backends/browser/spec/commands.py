"""The tools that a ``[browser]`` declares, and where its pages may come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from artificer.backends.browser.spec.actions import ACTIONS, argument_faults_of, arguments_of
from artificer.backends.browser.spec.flows import flow_faults, usable_flows
from artificer.backends.browser.spec.keys import Action, BrowserCommandKeys, BrowserKeys
from artificer.backends.browser.spec.scope import domain_fault
from artificer.contracts.arguments.check import Fault
from artificer.contracts.arguments.types import Argument, schema_of
from artificer.contracts.definition import ToolDefinition
from artificer.manifests.commands import offer_faults
from artificer.manifests.keys import ManifestKeys, ToolKeys

ENDING_SECONDS = 5
"""Extra time for a call after its timeout, to end the browser."""


@dataclass(frozen=True)
class BrowserCommand:
    """One action of a browser: the tool, and the arguments that its calls are bound to."""

    action: Action
    definition: ToolDefinition
    arguments: tuple[Argument, ...]


def browser_commands(tool: ToolKeys, browser: BrowserKeys) -> tuple[BrowserCommand, ...]:
    """The actions of a browser that has no faults, in the manifest's order.

    Logins are offered wherever there are any, because the format lists no command for them.
    """
    commands = dict(browser.commands)
    if usable_flows(browser):
        commands.setdefault("login", BrowserCommandKeys())
    else:
        commands.pop("login", None)
    browser = browser.replace(commands=commands)
    return tuple(_command(tool, browser, action) for action in commands)


def _command(tool: ToolKeys, browser: BrowserKeys, action: Action) -> BrowserCommand:
    keys, form = browser.commands[action], ACTIONS[action]
    arguments = arguments_of(browser, action)
    approval = form.asks if keys.human_approval is None else keys.human_approval
    seconds = browser.startup_timeout_seconds + tool.timeout_seconds + ENDING_SECONDS
    definition = ToolDefinition(
        name=f"{tool.name}.{action}",
        description=(
            f"{keys.description or form.summary} (In the browser {tool.name}: {tool.description})"
        ),
        input_schema={
            "type": "object",
            "properties": {a.name: schema_of(a) for a in arguments},
            "required": [a.name for a in arguments if a.required],
            "additionalProperties": False,
        },
        effect=keys.effect or form.effect,
        risk=keys.risk_tier or tool.risk_tier,
        human_approval=approval or tool.human_approval,
        timeout_ms=seconds * 1000,
        backend="browser",
        trust=tool.trust or "untrusted",
        sensitive=tool.sensitive,
        cedar=tool.cedar,
    )
    return BrowserCommand(action, definition, arguments)


def browser_faults(keys: ManifestKeys, browser: BrowserKeys) -> Iterator[Fault]:
    """Yield the faults between a ``[browser]`` and its manifest."""
    if keys.tool.mode not in (None, "browser"):
        yield Fault(("tool", "mode"), f"is {keys.tool.mode!r}, but there is a [browser]")
    if keys.args:
        yield Fault(("args",), "means nothing here: actions have arguments of their own")
    if len(keys.tool.name) > 50:
        yield Fault(("tool", "name"), "is too long to be followed by the name of an action")
    where = ("browser", "scope")
    scope = browser.scope
    if not scope.allowed_domains and not scope.allow_external:
        yield Fault((*where, "allowed_domains"), "is missing: nothing can be reached", lenient=True)
    yield from offer_faults(keys, "browser", browser.commands)
    for domains, key in (
        (scope.allowed_domains, "allowed_domains"),
        (scope.blocked_domains, "blocked_domains"),
    ):
        for domain in domains:
            if reason := domain_fault(domain, blocks=key == "blocked_domains"):
                yield Fault((*where, key), reason)
    named = browser.model_fields_set
    if browser.defaults.extract_mode and "extract_mode" in named:
        yield Fault(("browser", "defaults", "extract_mode"), "is set twice: also in [browser]")
    for action in browser.commands:
        yield from argument_faults_of(browser, action)
    yield from flow_faults(browser)
