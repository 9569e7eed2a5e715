"""Secrets in files: what a folder of systemd, Docker or Kubernetes holds, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from artificer.errors import ConfigError, OperatorError
from artificer.secrets.files import CREDENTIALS, FILES, MAX_VALUE, FolderOfSecrets

pytestmark = pytest.mark.req("secret-files")

VALUE = "tr-51Hq8Zr7Tn3V"


def test_a_folder_as_kubernetes_makes_it(tmp_path: Path) -> None:
    """Links within the folder, files that all may read, and a swap of all of them at once."""
    for version, value in (("..1", VALUE), ("..2", "another-one-7")):
        (tmp_path / version).mkdir()
        (tmp_path / version / "token").write_text(value)
        (tmp_path / version / "token").chmod(0o444)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "token").symlink_to("..data/token")
    source = FolderOfSecrets(tmp_path)
    assert source.resolve("token") == source.resolve("TOKEN".lower()) == VALUE
    assert source.at_hand() == {"token": VALUE}
    (tmp_path / "next").symlink_to("..2")
    (tmp_path / "next").rename(tmp_path / "..data")
    assert source.resolve("token") == "another-one-7"


def test_a_name_in_capitals_and_line_ends(tmp_path: Path) -> None:
    (tmp_path / "MISTRAL_API_KEY").write_bytes(VALUE.encode() + b"\r\n")
    (tmp_path / "lines").write_text("one\ntwo\n\n")
    (tmp_path / "empty").write_text("\n")
    source = FolderOfSecrets(tmp_path)
    assert source.resolve("mistral_api_key") == VALUE
    assert source.resolve("lines") == "one\ntwo\n"
    assert source.resolve("empty") is None
    assert FolderOfSecrets(tmp_path / "nowhere").resolve("lines") is None


@pytest.mark.parametrize(
    "fault",
    ["leads out", "not a regular", "not a regular file", "chmod", "circle", "longer", "UTF"],
)
def test_what_is_no_secret_is_refused_by_name(fault: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "secrets", tmp_path / "passwords"
    folder.mkdir()
    outside.write_text(VALUE)
    file = folder / "token"
    match fault:
        case "leads out":
            file.symlink_to("../passwords")
        case "not a regular":
            file.mkdir()
        case "not a regular file":
            os.mkfifo(file)  # nobody writes to it: opening it must not wait
        case "chmod":
            file.write_text(VALUE)
            file.chmod(0o622)
        case "circle":
            file.symlink_to("token")
        case "longer":
            file.write_text("x" * (MAX_VALUE + 1))
        case _:
            file.write_bytes(b"\xff\xfe" + VALUE.encode())
    source = FolderOfSecrets(folder)
    with pytest.raises(OperatorError, match=fault.partition(" file")[0]) as caught:
        source.resolve("token")
    assert str(file) in caught.value.message
    assert VALUE not in caught.value.message
    assert source.at_hand() == {}


def test_the_folder_of_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text(VALUE)
    monkeypatch.setenv(CREDENTIALS, str(tmp_path))
    assert FILES.open("files").resolve("token") == VALUE
    monkeypatch.delenv(CREDENTIALS)
    elsewhere = FILES.open("files")
    assert (elsewhere.place("token"), elsewhere.at_hand()) == ("$CREDENTIALS_DIRECTORY/token", {})
    with pytest.raises(OperatorError, match="not a service with credentials"):
        elsewhere.resolve("token")
    with pytest.raises(ConfigError, match="relative"):
        FILES.open("files:secrets")
