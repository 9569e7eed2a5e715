"""The keys of the format, as its specification and its implementations list them."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from artificer.backends.browser.spec import keys as browser
from artificer.backends.command.spec import keys as command
from artificer.backends.http.spec import keys as http
from artificer.backends.mcp.spec import keys as mcp
from artificer.backends.session.spec import keys as session
from artificer.contracts.arguments.types import Argument
from artificer.contracts.definition import CedarKeys
from artificer.manifests import keys as manifest
from artificer.manifests.registry import BACKENDS
from artificer.values.base import Value

FORMAT: dict[type[Any], str] = {
    manifest.ManifestKeys: "tool args output",
    manifest.ToolKeys: "name version binary description timeout_seconds risk_tier human_approval"
    " dispatch mode cedar evidence",
    CedarKeys: "resource action",
    manifest.EvidenceKeys: "output_dir capture hash screenshots",
    Argument: "position required type description default allowed pattern min max clamp schemes"
    " sanitize scope_check",
    command.CommandKeys: "template exec executor defaults mappings conditionals",
    command.ConditionalKeys: "when template",
    http.HttpKeys: "method url headers body_template success_status error_status",
    mcp.McpKeys: "server tool field_map",
    session.SessionKeys: "startup_command ready_pattern startup_timeout_seconds"
    " idle_timeout_seconds session_timeout_seconds max_interactions interaction commands"
    " child_detection events",
    session.InteractionKeys: "input_sanitize output_max_bytes output_wait_ms",
    session.SessionCommandKeys: "pattern description risk_tier human_approval extract_target args",
    session.ChildKeys: "pattern type manifest",
    session.EventKeys: "enabled max_queue_depth poll_interval_ms event_types ttl_seconds",
    browser.BrowserKeys: "engine connect headless extract_mode startup_timeout_seconds"
    " session_timeout_seconds idle_timeout_seconds max_interactions scope commands state defaults"
    " auth_flows",
    browser.BrowserScopeKeys: "allowed_domains blocked_domains allow_external",
    browser.BrowserCommandKeys: "description risk_tier human_approval args",
    browser.BrowserStateKeys: "fields",
    browser.BrowserDefaultKeys: "extract_mode",
    browser.AuthFlowKeys: "login_url username_selector password_selector submit_selector"
    " success_indicator secret_ref mfa_handler mfa_selector mfa_secret_ref",
    manifest.OutputKeys: "format parser envelope schema",
}

ACTIONS = (
    "navigate click type_text submit_form snapshot extract extract_html screenshot execute_js"
    " wait_for go_back scroll list_tabs network_timing"
)


@pytest.mark.req("manifest-complete")
@pytest.mark.parametrize("model", FORMAT, ids=lambda model: model.__name__)
def test_every_key_of_the_format_is_known(model: type[Any]) -> None:
    if issubclass(model, Value):
        known = set(model.field_names())
    else:
        known = {field.alias or name for name, field in model.model_fields.items()}
    assert set(FORMAT[model].split()) - known == set()


@pytest.mark.req("manifest-complete")
def test_every_action_of_the_format_is_known() -> None:
    assert set(ACTIONS.split()) <= set(get_args(browser.Action))


@pytest.mark.req("manifest-complete")
def test_every_backend_of_the_format_is_known() -> None:
    assert {"command", "http", "mcp", "session", "browser"} <= set(BACKENDS.names)
