"""The actions of a browser: what each does, what it takes, and what may be done after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from artificer.backends.browser.spec.flows import usable_flows
from artificer.backends.browser.spec.keys import Action, BrowserKeys
from artificer.contracts.arguments.check import Fault, argument_faults
from artificer.contracts.arguments.types import Argument, schema_of
from artificer.contracts.definition import EffectClass

FOCUSED = ":focus"
"""The selector of the element that has the focus."""


def _selector(purpose: str, *, required: bool = True) -> Argument:
    return Argument(
        name="selector",
        pattern=".{1,1000}",
        required=required,
        description=f"{purpose}: a CSS selector, or a role and a name: role=button[name='Send'].",
    )


@dataclass(frozen=True)
class ActionForm:
    """One action. ``asks`` says that a person is asked unless the manifest says otherwise."""

    summary: str
    effect: EffectClass
    arguments: tuple[Argument, ...] = ()
    asks: bool = False


_URL = Argument(name="url", pattern=r"https?://\S+", required=True, description="The address.")
_MODE = Argument(
    name="mode",
    type="enum",
    allowed=("accessibility_tree", "text", "html"),
    description="How it is read.",
)
_WAIT = Argument(name="timeout_ms", type="integer", min=100, max=30_000, default=5_000)
_DIRECTION = Argument(name="direction", type="enum", allowed=("up", "down"), required=True)
_AMOUNT = Argument(
    name="amount", type="integer", min=1, max=100, default=3, description="Steps of 100 pixels."
)

ACTIONS: dict[Action, ActionForm] = {
    "navigate": ActionForm("Open an address.", "idempotent", (_URL,)),
    "go_back": ActionForm("Go back to the page before this one.", "once"),
    "click": ActionForm(
        "Click an element; submit_form sends forms.", "once", (_selector("The element"),)
    ),
    "scroll": ActionForm("Scroll the page.", "once", (_DIRECTION, _AMOUNT)),
    "wait_for": ActionForm(
        "Wait until an element is there.", "pure", (_selector("The element"), _WAIT)
    ),
    "type_text": ActionForm(
        "Put text into a field, in place of what is there.",
        "idempotent",
        (
            Argument(name="text", required=True, multiline=True),
            _selector("The field; without one, that with the focus", required=False),
        ),
    ),
    "submit_form": ActionForm(
        "Send the form that an element is, or belongs to.",
        "once",
        (_selector("The form, or a part of it"),),
        asks=True,
    ),
    "login": ActionForm("Log in, with a name and password that are kept here.", "once", asks=True),
    "snapshot": ActionForm(
        "Read the page, or an element of it, as its accessibility tree.",
        "pure",
        (_selector("The element", required=False),),
    ),
    "extract": ActionForm(
        "Read the page, or an element of it.",
        "pure",
        (_MODE, _selector("The element", required=False)),
    ),
    "extract_html": ActionForm(
        "Read the HTML of the page, or of an element of it.",
        "pure",
        (_selector("The element", required=False),),
    ),
    "screenshot": ActionForm("Keep a picture of the page.", "pure"),
    "list_tabs": ActionForm("Tell the title and the address of the open page.", "pure"),
    "network_timing": ActionForm("Tell what the page has loaded, and how long it took.", "pure"),
    "execute_js": ActionForm(
        "Run JavaScript in the page.",
        "once",
        (Argument(name="expression", required=True, multiline=True),),
        asks=True,
    ),
}


def arguments_of(browser: BrowserKeys, action: Action) -> tuple[Argument, ...]:
    """The arguments of an action, narrowed as its command says."""
    declared = browser.commands[action].args
    own = {argument.name: argument for argument in ACTIONS[action].arguments}
    if action == "extract":
        own["mode"] = own["mode"].replace(default=browser.mode)
    if action == "login":
        services = tuple(usable_flows(browser))
        own["service"] = Argument(name="service", type="enum", allowed=services, required=True)
    return tuple(
        _narrowed(argument, declared.get(name))
        for name, argument in own.items()
        if not declared or name in declared or argument.required
    )


def _narrowed(own: Argument, declared: Argument | None) -> Argument:
    if declared is None:
        return own
    update: dict[str, object] = {
        "required": (own.required or declared.required) and declared.default is None,
        "default": own.default if declared.default is None else declared.default,
        "description": declared.description or own.description,
        "multiline": own.multiline or declared.multiline,
        "scope_check": False,  # [browser.scope] holds for every address, wherever it comes from
    }
    if not (declared.pattern or declared.allowed) and declared.type == own.type:
        update |= {"pattern": own.pattern, "allowed": own.allowed}
    for bound in ("min", "max"):
        if getattr(declared, bound) is None:
            update[bound] = getattr(own, bound)
    return declared.replace(**update)


def argument_faults_of(browser: BrowserKeys, action: Action) -> Iterator[Fault]:
    """Yield the faults in the ``args`` of a command."""
    path = ("browser", "commands", action)
    own = {argument.name: argument for argument in ACTIONS[action].arguments}
    for name, argument in browser.commands[action].args.items():
        if name not in own:
            has = ", ".join(own) or "none"
            message = f"is not an argument of this action; it has: {has}"
            yield Fault((*path, "args", name), message, lenient=True)
            continue
        found = argument_faults(argument)
        for fault in found:
            yield fault._replace(path=(*path, *fault.path))
        wanted = schema_of(own[name])["type"]
        if not found and schema_of(argument)["type"] != wanted:
            yield Fault((*path, "args", name, "type"), f"must be a type whose values are: {wanted}")
