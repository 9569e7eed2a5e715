"""The certificates that all connections of a process are checked against."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from provider_kit import PROVIDERS, a_request
from strict_rules import Protocol

from artificer.ports import Memo
from artificer.providers.attempts import AttemptLimits
from artificer.system.tls import shared_context
from artificer.values.blocks import user
from artificer.values.model import ModelFailure
from needs import needs

pytestmark = pytest.mark.req("tls-shared")

REFUSAL = b"HTTP/1.1 400 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of this machine, which it has signed itself, and its key."""
    key, now = generate_private_key(SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(here, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "here.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(made.public_bytes(Encoding.PEM) + secret)
    return path


@asynccontextmanager
async def refusing(certificate: Path) -> AsyncIterator[str]:
    """A server with the certificate, which refuses every request."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(REFUSAL)
        await writer.drain()
        writer.close()

    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(certificate)
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=own) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
async def test_a_provider_trusts_what_the_environment_names(
    certificate: Path, protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = AttemptLimits(attempts=1)
    failures = []
    async with refusing(certificate) as url:
        for trusted in (None, certificate):
            if trusted is not None:
                monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
            provider = PROVIDERS[protocol](base_url=url, api_key="k", limits=limits)
            payload = provider.prepare(a_request(), (user("Hello."),), Memo())
            failures.append(await provider.generate(payload, lambda _: None))
            await provider.aclose()
    unknown, known = failures
    assert isinstance(unknown, ModelFailure) and unknown.code == "unavailable"
    assert isinstance(known, ModelFailure) and known.code == "bad_request"


@needs("mcp")
async def test_a_client_of_an_mcp_server_trusts_what_the_environment_names(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx2

    from artificer.backends.mcp.http import bounded_client

    async with refusing(certificate) as url:
        async with bounded_client({}, 100, url) as client:
            with pytest.raises(httpx2.ConnectError):
                await client.get(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        async with bounded_client({}, 100, url) as client:
            assert (await client.get(url)).status_code == 400


def test_certificates_are_read_once_and_again_where_others_are_named(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shared_context()
    assert shared_context() is first
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    (trusted,) = shared_context().get_ca_certs()
    assert trusted["subject"] == ((("commonName", "here"),),)
    assert first.verify_mode == ssl.CERT_REQUIRED and first.check_hostname
