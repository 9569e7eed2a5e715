"""Signed manifests: what was changed, or signed by nobody trusted, is not loaded."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from artificer.backends.loader import load_folder
from artificer.errors import ConfigError, ManifestError

pytestmark = pytest.mark.req("manifest-signatures")

TEXT = '[tool]\nname = "t"\nversion = "1"\ndescription = "A."\n[command]\nexec = ["true"]\n'


def make_key(file: Path, curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(curve or ec.SECP256R1())
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    file.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))
    return key


def sign(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    signature = key.sign(file.read_bytes(), ec.ECDSA(hashes.SHA256()))
    file.with_name(file.name + ".sig").write_bytes(base64.b64encode(signature) + b"\n")


def test_only_what_somebody_trusted_signed_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    manifest = folder / "t.clad.toml"
    manifest.write_text(TEXT)
    mine, other = make_key(tmp_path / "mine.pem"), make_key(tmp_path / "other.pem")
    keys = [tmp_path / "mine.pem"]
    assert load_folder(folder)
    with pytest.raises(ManifestError, match="is not signed"):
        load_folder(folder, trusted_keys=keys)
    sign(manifest, mine)
    assert load_folder(folder, trusted_keys=keys)
    sign(manifest, other)
    with pytest.raises(
        ManifestError, match="changed after it was signed, or signed with an unknown"
    ):
        load_folder(folder, trusted_keys=keys)
    assert load_folder(folder, trusted_keys=[*keys, tmp_path / "other.pem"])
    manifest.write_text(TEXT + "#")
    with pytest.raises(ManifestError, match="changed after it was signed"):
        load_folder(folder, trusted_keys=[*keys, tmp_path / "other.pem"])
    (folder / "t.clad.toml.sig").write_text("no base64!")
    with pytest.raises(ManifestError, match="its signature cannot be read"):
        load_folder(folder, trusted_keys=keys)


def test_what_the_manifests_share_must_be_signed_too(tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    key = make_key(tmp_path / "key.pem")
    (folder / "toolclad.toml").write_text('[scope]\nallow = ["*"]')
    with pytest.raises(ManifestError, match=r"toolclad\.toml: is not signed"):
        load_folder(folder, trusted_keys=[tmp_path / "key.pem"])
    sign(folder / "toolclad.toml", key)
    assert load_folder(folder, trusted_keys=[tmp_path / "key.pem"]) == ()


def test_keys_that_are_none(tmp_path: Path) -> None:
    make_key(tmp_path / "p384.pem", ec.SECP384R1())
    (tmp_path / "text.pem").write_text("no key")
    for name in ("p384.pem", "text.pem", "missing.pem"):
        with pytest.raises(ConfigError, match="public key"):
            load_folder(tmp_path, trusted_keys=[tmp_path / name])


@pytest.mark.parametrize("key", ["executor", "parser"])
def test_a_program_beside_a_manifest_must_be_signed_too(tmp_path: Path, key: str) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    mine = make_key(tmp_path / "mine.pem")
    manifest, program = folder / "t.clad.toml", folder / "run.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    executor = TEXT.replace('exec = ["true"]', 'executor = "./run.sh"')
    manifest.write_text(executor if key == "executor" else TEXT + '[output]\nparser = "./run.sh"')
    sign(manifest, mine)
    with pytest.raises(ManifestError, match=r"run\.sh: is not signed"):
        load_folder(folder, trusted_keys=[tmp_path / "mine.pem"])
    sign(program, mine)
    assert load_folder(folder, trusted_keys=[tmp_path / "mine.pem"])
    program.write_text("#!/bin/sh\nrm -rf /\n")
    with pytest.raises(ManifestError, match=r"run\.sh: was changed after it was signed"):
        load_folder(folder, trusted_keys=[tmp_path / "mine.pem"])


def test_a_signature_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    make_key(tmp_path / "mine.pem")
    (tmp_path / "tools" / "t.clad.toml").write_text(TEXT)
    os.mkfifo(tmp_path / "tools" / "t.clad.toml.sig")
    with pytest.raises(ManifestError, match="signature cannot be read"):
        load_folder(tmp_path / "tools", trusted_keys=[tmp_path / "mine.pem"])
