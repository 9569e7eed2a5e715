"""Detached signatures of manifests: ECDSA P-256 with SHA-256 over the raw bytes of a file.

As SchemaPin signs: the signature of ``x.clad.toml`` is base64 of its DER form, in
``x.clad.toml.sig``. The operator pins the keys; they are never found next to
them: who can change a manifest could change those too.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from artificer.errors import ConfigError, ManifestError, MissingExtraError
from artificer.system.regular_file import read_regular

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

SUFFIX = ".sig"
"""The suffix that makes a file's name the name of its signature."""

MAX_SIGNATURE = 4096
"""Largest signature file that is read, in bytes."""


class Signers:
    """The public keys of those whose manifests are trusted."""

    def __init__(self, keys: Sequence[EllipticCurvePublicKey]) -> None:
        self._keys = tuple(keys)

    @classmethod
    def of(cls, files: Sequence[Path]) -> Signers | None:
        """Read public keys (PEM); None if there are none and no signature is needed.

        Raises:
            ConfigError: a file is not a P-256 public key.
            MissingExtraError: ``cryptography`` is not installed.
        """
        return cls([_key_of(file) for file in files]) if files else None

    def check(self, file: Path, data: bytes) -> None:
        """Raise ManifestError unless the bytes of a file bear a signature by one of the keys."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA

        try:
            text = read_regular(file.with_name(file.name + SUFFIX), MAX_SIGNATURE)
            signature = base64.b64decode((text or b"").strip(), validate=True)
        except FileNotFoundError as error:
            raise ManifestError(
                f"{file}: is not signed: {file.name}{SUFFIX} is missing",
                hint="Sign it; docs/manifests.md shows how.",
            ) from error
        except (OSError, binascii.Error) as error:
            raise ManifestError(
                f"{file}: its signature cannot be read: {error}",
                hint="Check its permissions, or sign the file again.",
            ) from error
        for key in self._keys:
            try:
                key.verify(signature, data, ECDSA(hashes.SHA256()))
            except InvalidSignature:
                continue
            return
        raise ManifestError(
            f"{file}: was changed after it was signed, or signed with an unknown key",
            hint="Read the change, then sign the file again; docs/manifests.md shows how.",
        )


def _key_of(file: Path) -> EllipticCurvePublicKey:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ModuleNotFoundError as error:
        raise MissingExtraError("signatures", needed_for="Checking signatures") from error
    try:
        key = load_pem_public_key(file.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(
            f"{file} is not a public key in PEM form: {error}.",
            hint="Write it with: openssl pkey -in private.pem -pubout",
        ) from error
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise ConfigError(f"{file} is not a P-256 public key.", hint="SchemaPin signs with P-256.")
    return key
