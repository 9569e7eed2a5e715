"""Logins that a manifest declares: what they need, and how it is known that they succeeded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from artificer.backends.browser.spec.keys import AuthFlowKeys, BrowserKeys
from artificer.backends.browser.spec.scope import host_refusal, place_in
from artificer.contracts.arguments.check import Fault

USERNAME, PASSWORD = "_username", "_password"
"""The suffixes of the two secrets of a flow."""

_PEOPLES = ("sms", "manual")
"""Second factors that only a person can give."""

_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:")
_UNFIT = re.compile(r"[^A-Za-z0-9]+")


def secret_name(reference: str) -> str:
    """The name of the secret that a reference stands for: ``vault:github/web-login`` is
    ``github_web_login``.
    """
    return _UNFIT.sub("_", _SCHEME.sub("", reference)).strip("_")


def secrets_of(flow: AuthFlowKeys) -> tuple[str, ...]:
    """The names of the secrets that a login needs: user name, password, and a TOTP seed if any."""
    name = secret_name(flow.secret_ref)
    seed = (secret_name(flow.mfa_secret_ref),) if flow.mfa_handler else ()
    return (name + USERNAME, name + PASSWORD, *seed)


def usable_flows(browser: BrowserKeys) -> dict[str, AuthFlowKeys]:
    """The logins that need no person at the browser."""
    return {s: f for s, f in browser.auth_flows.items() if f.mfa_handler not in _PEOPLES}


def flow_faults(browser: BrowserKeys) -> Iterator[Fault]:
    """Yield the faults in ``[browser.auth_flows]``."""
    if "login" in browser.commands and not browser.auth_flows:
        yield Fault(("browser", "commands", "login"), "has no auth_flows to log in with")
    for service, flow in browser.auth_flows.items():
        path = ("browser", "auth_flows", service)
        if reason := _unreachable(browser, flow.login_url):
            yield Fault((*path, "login_url"), reason)
        if not secret_name(flow.secret_ref):
            yield Fault((*path, "secret_ref"), "names no secret")
        if flow.mfa_handler in _PEOPLES:
            message = (
                f"{flow.mfa_handler!r} needs a person at the browser; only 'totp' can be answered "
                "here"
            )
            yield Fault((*path, "mfa_handler"), message, lenient=True)
        elif flow.mfa_handler and not (flow.mfa_selector and secret_name(flow.mfa_secret_ref)):
            yield Fault((*path, "mfa_handler"), "needs mfa_selector and mfa_secret_ref")


def _unreachable(browser: BrowserKeys, url: str) -> str | None:
    try:
        host, port = place_in(url)
    except ValueError:
        return "is not an address"
    reason = host_refusal(browser.scope, host, port)
    return f"its host {host!r} {reason}" if reason else None
