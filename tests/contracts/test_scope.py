"""Scopes: which addresses, names and URLs are in, and that arguments are held to them."""

from __future__ import annotations

from string import ascii_lowercase, digits
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.browser.spec.keys import BrowserScopeKeys
from artificer.backends.browser.spec.scope import domain_fault, host_refusal
from artificer.contracts.addresses import climbs
from artificer.contracts.scope import Scope, host_matches
from artificer.errors import ManifestError
from artificer.manifests.custom_types import FolderKeys, parse_folder_keys
from artificer.manifests.model import Manifest
from artificer.manifests.parse import parse_manifest
from command_lines import argv_of

pytestmark = pytest.mark.req("scope-engine")


@pytest.mark.parametrize(
    ("address", "network", "inside"),
    [
        ("10.0.0.1", "10.0.0.0/8", True),
        ("10.255.255.255", "10.0.0.0/8", True),
        ("11.0.0.0", "10.0.0.0/8", False),
        ("192.168.1.7", "192.168.1.0/24", True),
        ("192.168.2.7", "192.168.1.0/24", False),
        ("1.2.3.4", "1.2.3.4/32", True),
        ("1.2.3.4", "0.0.0.0/0", True),
        ("10.0.0.1", "fe80::/10", False),
        ("2001:db8::1", "2001:db8::/32", True),
        ("2001:db9::1", "2001:db8::/32", False),
        ("::ffff:10.0.0.1", "10.0.0.0/8", True),
        ("10.0.0.1", "10.0.0.0", False),
        ("010.0.0.1", "10.0.0.0/8", False),
    ],
)
def test_addresses_in_networks(address: str, network: str, inside: bool) -> None:
    assert (Scope(allow=(network,)).refusal(address) is None) is inside


@pytest.mark.parametrize(
    ("host", "pattern", "matches"),
    [
        ("a.example.org", "*.example.org", True),
        ("a.b.example.org", "*.example.org", True),
        ("example.org", "*.example.org", False),
        ("badexample.org", "*.example.org", False),
        ("example.org", "example.org", True),
        ("EXAMPLE.org.", "example.org", True),
        ("a.example.org", "example.org", False),
        ("anything", "*", True),
    ],
)
def test_names_and_wildcards(host: str, pattern: str, matches: bool) -> None:
    assert host_matches(host, pattern) is matches


SCOPE = Scope(
    allow=(
        "10.0.0.0/8",
        "2001:db8::/32",
        "*.example.org",
        "example.org",
        "https://api.example.net/v1",
    ),
    block=("10.0.0.5", "10.9.0.0/16", "secret.example.org", "2001:db8:bad::/48"),
)


@pytest.mark.parametrize(
    ("target", "inside"),
    [
        ("10.0.0.4", True),
        ("10.0.0.5", False),
        ("10.9.1.1", False),
        ("11.0.0.1", False),
        ("10.1.0.0/16", True),
        ("10.0.0.0/24", False),
        ("10.0.0.0/7", False),
        ("0.0.0.0/0", False),
        ("2001:db8::5", True),
        ("2001:db8:bad::5", False),
        ("::ffff:10.0.0.4", True),
        ("::ffff:10.0.0.5", False),
        ("example.org", True),
        ("www.EXAMPLE.org", True),
        ("secret.example.org", False),
        ("example.org.evil.net", False),
        ("http://www.example.org:8080/x", True),
        ("http://secret.example.org/x", False),
        ("http://10.0.0.5/", False),
        ("http://[::ffff:10.0.0.5]/", False),
        ("https://api.example.net/v1/users", True),
        ("https://api.example.net/v1", True),
        ("https://api.example.net/v10", False),
        ("https://api.example.net/v1/../admin", False),
        ("https://api.example.net/v1/%2e%2e/admin", False),
        ("http://api.example.net/v1", False),
        ("https://api.example.net:444/v1", False),
        ("https://u@example.org/", False),
        ("api.example.net", False),
        ("2130706433", False),
        ("999.1.1.1", False),
        ("-x", False),
        ("", False),
    ],
)
def test_targets(target: str, inside: bool) -> None:
    assert (SCOPE.refusal(target) is None) is inside


@pytest.mark.parametrize(
    "path",
    [
        *("admin", "admin/u", "./admin/u", "x/../admin/u", "x/..;/admin", "%61dmin/u", "%2561dmin"),
        *("/admin/u", "admin;x/u", "admin%2Fu", "admin%5Cu", "ADMIN"),
    ],
)
def test_a_blocked_url_is_blocked_however_a_server_may_read_it(path: str) -> None:
    url = "https://api.example.org"
    scope = Scope(allow=("api.example.org",), block=(f"{url}/admin",))
    assert scope.refusal(f"{url}/{path}") == "is blocked by the scope"
    assert scope.refusal(f"{url}/administrators") is None


@given(st.text() | st.text(f"{ascii_lowercase}{digits}.:/%*[]-", max_size=40))
def test_any_text_gets_an_answer_and_an_empty_scope_holds_nothing(text: str) -> None:
    assert Scope().refusal(text)
    SCOPE.refusal(text)


def folder(text: str) -> FolderKeys:
    return parse_folder_keys(text, "toolclad.toml")


def manifest_of(arguments: str, command: str, scope: str) -> Manifest:
    tool = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
    text = f"{tool}{arguments}\n[command]\n{command}\n"
    return parse_manifest(text, "t.clad.toml", folder=folder(scope))


def test_every_scope_checked_argument_is_held_to_the_folders_scope() -> None:
    scope = '[scope]\nallow = ["example.org", "10.0.0.0/8"]\nblock = ["10.0.0.9"]'
    for kind, good, bad in (
        ("scope_target", "example.org", "example.net"),
        ("url", "https://example.org/x", "https://example.net/x"),
        ("ip_address", "10.0.0.1", "10.0.0.9"),
        ("cidr", "10.1.0.0/16", "10.0.0.0/24"),
        ("string", "example.org", "example.org; id"),
    ):
        arguments = f'[args.x]\ntype = "{kind}"\nscope_check = true\nrequired = true'
        manifest = manifest_of(arguments, 'exec = ["p", "{x}"]', scope)
        assert argv_of(manifest, {"x": good}).argv == ("p", good)
        assert "scope" in argv_of(manifest, {"x": bad}).problems[0].message or kind == "string"
        assert argv_of(manifest, {"x": bad}).problems
    listed = manifest_of(
        '[args.x]\ntype = "scope_target"\nlist = true\nrequired = true',
        'exec = ["p", "{x}"]',
        scope,
    )
    assert [p.pointer for p in argv_of(listed, {"x": ["10.0.0.1", "10.0.0.9"]}).problems] == [
        "/x/1"
    ]


def test_defaults_are_held_to_the_scope_too() -> None:
    arguments = '[args.x]\ntype = "scope_target"\ndefault = "example.net"'
    manifest = manifest_of(arguments, 'exec = ["p", "{x}"]', '[scope]\nallow = ["example.org"]')
    assert argv_of(manifest, {}).problems


def test_what_must_be_in_scope_is_refused_where_there_is_none() -> None:
    arguments = '[args.x]\ntype = "scope_target"\nrequired = true\nscope_check = true'
    manifest = manifest_of(arguments, 'exec = ["p", "{x}"]', "")
    assert "no [scope]" in argv_of(manifest, {"x": "example.org"}).problems[0].message


def test_a_scope_that_cannot_be_read_is_told_with_its_line() -> None:
    with pytest.raises(ManifestError) as caught:
        folder('[scope]\nallow = ["exa mple"]\nblok = []')
    told = caught.value.message.splitlines()
    assert told[0].startswith("toolclad.toml:2: scope.allow.0: ")
    assert "toolclad.toml:3: scope.blok: is not a known key" in told


CLIMBING = [
    "..", ".", "../admin", "a/../b", "..%2fadmin", "%2e%2e", "%252e%252e", "%25252E%25252e/x",
    "..%252fadmin", "..\\admin", "..%5cadmin", "..;/admin", "..;a=b", ".%2e", "%2e.", "a/..",
    ".. ", "%2e%2e%20", "%" + "25" * 12 + "2e",
]  # fmt: skip


@pytest.mark.req("http-climb")
@pytest.mark.parametrize("path", CLIMBING)
def test_a_path_that_climbs_for_whoever_decodes_it_is_in_no_scope(path: str) -> None:
    assert climbs(path)
    url = f"https://api.example/v1/{path}"
    scope = Scope(allow=("https://api.example/v1",))
    assert scope.refusal(url)


@pytest.mark.req("http-climb")
@pytest.mark.parametrize(
    "path",
    ["a", "a/b", "tea%2Fkettle", "...", "a..b", "..a", "a.", "%25", "100%25", "1.0", "x;v=1"],
)
def test_other_paths_are_what_they_are(path: str) -> None:
    assert not climbs(path)
    assert (
        Scope(allow=("https://api.example/v1",)).refusal(f"https://api.example/v1/{path}") is None
    )


def opens(allowed: str, host: str, port: int, **more: Any) -> bool:
    scope = BrowserScopeKeys(allowed_domains=(allowed,), **more)
    return host_refusal(scope, host, port) is None


@pytest.mark.req("browser-port")
def test_a_port_in_a_browsers_scope_is_the_only_one() -> None:
    assert opens("shop.example:8443", "shop.example", 8443)
    assert not opens("shop.example:8443", "shop.example", 443)
    assert opens("*.shop.example:8443", "a.shop.example", 8443)
    assert opens("[::1]:8080", "::1", 8080)
    assert not opens("[::1]:8080", "::1", 80)
    assert opens("shop.example", "shop.example", 9999)
    for host in ("127.0.0.1", "localhost", "a.localhost", "::1", "0.0.0.0"):
        assert opens(host, host, 80)
        assert opens(host, host, 443)
        assert not opens(host, host, 8080)
        assert opens(f"[{host}]:*" if ":" in host else f"{host}:*", host, 8080)
    blocked = {"allow_external": True, "blocked_domains": ("shop.example:22", "admin.*:8080")}
    assert not opens("a.example", "shop.example", 22, **blocked)
    assert opens("a.example", "shop.example", 443, **blocked)
    assert not opens("a.example", "admin.b.example", 8080, **blocked)


@pytest.mark.req("browser-port")
def test_what_is_no_port_is_a_fault_of_the_manifest() -> None:
    for good in ("a.example:443", "*.a.example:1", "[::1]:65535", "127.0.0.1:*", "::1"):
        assert domain_fault(good, blocks=False) is None
    for bad in ("a.example:", "a.example:0", "a.example:65536", "a.example:x", "[::1", "a:1:2"):
        assert domain_fault(bad, blocks=False)
