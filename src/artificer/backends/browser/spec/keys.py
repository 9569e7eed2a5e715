"""The keys of ``[browser]`` (``docs/manifests.md``)."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from artificer.contracts.arguments.keys import DeclaredArgument
from artificer.contracts.definition import EffectClass, Risk
from artificer.manifests.keys import Seconds
from artificer.values.keys import KeyTable

Action = Literal[
    "navigate",
    "go_back",
    "click",
    "scroll",
    "wait_for",
    "type_text",
    "submit_form",
    "login",
    "snapshot",
    "extract",
    "extract_html",
    "screenshot",
    "list_tabs",
    "network_timing",
    "execute_js",
]
"""The actions on a page. A manifest offers those that it names as commands."""

ExtractMode = Literal["accessibility_tree", "text", "html"]

StateField = Literal[
    "url", "title", "domain", "has_forms", "is_authenticated", "page_loaded", "tab_count"
]
STATE_FIELDS: tuple[StateField, ...] = get_args(StateField)


class BrowserScopeKeys(KeyTable):
    """``[browser.scope]``: domains, or ``*.domain`` for all below one, with or without ``:port``.

    What is blocked wins, and may also be ``name.*``: every host whose first label that is. Without
    a port all of a host's are meant, but of a loopback host 80 and 443 alone; ``:*`` means all.

    With ``allow_external`` every other host of the public internet may be reached too.
    """

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    allow_external: bool = False


class BrowserCommandKeys(KeyTable):
    """``[browser.commands.ACTION]``

    ``args`` narrow the action's own arguments; with any, only these and those that the action
    cannot do without are offered. Without ``human_approval`` a person is asked before a form is
    sent, a login is made and a script is run, and before nothing else.
    """

    description: str = ""
    risk_tier: Risk | None = None
    human_approval: bool | None = None
    effect: EffectClass | None = None
    args: dict[str, DeclaredArgument] = Field(default_factory=dict)


class BrowserDefaultKeys(KeyTable):
    """``[browser.defaults]``: where the format's own documents put ``extract_mode``."""

    extract_mode: ExtractMode | None = None


class BrowserStateKeys(KeyTable):
    """``[browser.state]``: what every answer says of the page. ``is_authenticated`` is whether a
    login of ``auth_flows`` has succeeded on the page's host.
    """

    fields: tuple[StateField, ...] = STATE_FIELDS


class AuthFlowKeys(KeyTable):
    """``[browser.auth_flows.SERVICE]``: a login that the runtime makes, with secrets of its own.

    ``secret_ref`` and ``mfa_secret_ref`` are names of secrets, also as ``vault:a/path``: see
    ``backends/browser/spec/flows.py``. ``success_indicator`` is ``url_contains=TEXT``,
    ``element=SELECTOR`` or ``cookie=NAME``.
    """

    login_url: Annotated[str, Field(pattern=r"^https?://")]
    username_selector: Annotated[str, Field(min_length=1)]
    password_selector: Annotated[str, Field(min_length=1)]
    submit_selector: Annotated[str, Field(min_length=1)]
    success_indicator: Annotated[str, Field(pattern=r"^(url_contains|element|cookie)=.+$")]
    secret_ref: Annotated[str, Field(min_length=1)]
    mfa_handler: Literal["totp", "sms", "manual"] | None = None
    mfa_selector: str = ""
    mfa_secret_ref: str = ""


Service = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class BrowserKeys(KeyTable):
    """``[browser]``: a Chromium that is used action by action.

    It is started once for a run or, with ``connect = "live"``, it is the operator's running one,
    in which the run gets a window of its own.
    """

    engine: Literal["cdp", "cdp-direct", "playwright"] = "playwright"
    connect: Literal["launch", "live"] = "launch"
    headless: bool = True
    extract_mode: ExtractMode = "accessibility_tree"
    startup_timeout_seconds: Seconds = 10
    session_timeout_seconds: Seconds = 600
    idle_timeout_seconds: Seconds = 120
    max_interactions: Annotated[int, Field(gt=0, le=100_000)] = 200
    scope: BrowserScopeKeys = BrowserScopeKeys()
    defaults: BrowserDefaultKeys = BrowserDefaultKeys()
    state: BrowserStateKeys | None = None
    auth_flows: dict[Service, AuthFlowKeys] = Field(default_factory=dict)
    commands: dict[Action, BrowserCommandKeys] = Field(default_factory=dict)

    @property
    def mode(self) -> ExtractMode:
        """How a page is read when a call does not say."""
        return self.defaults.extract_mode or self.extract_mode
