"""The wheel, installed next to what it needs, runs the examples of the README."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

import wheels


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel, and borrows its dependencies from here."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheel, is not installed: run `make test`")
    folder = tmp_path_factory.mktemp("wheel")
    wheel = wheels.build(folder, "--no-index", "--no-build-isolation")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    wheels.call(*pip, "--no-index", "--no-deps", wheel)
    packages = next((folder / "venv").glob("lib/python*/site-packages"))
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.mark.req("wheel-works")
def test_the_wheel_runs_the_examples_of_the_readme(installed: Path, tmp_path: Path) -> None:
    wheels.check(installed, tmp_path, ["README.md"])


@pytest.mark.req("wheel-works")
def test_the_wheel_holds_the_package_and_nothing_else(installed: Path) -> None:
    listed = "import importlib.metadata as m; print(*m.files('artificer'), sep=chr(10))"
    files = wheels.call(installed, "-c", listed).splitlines()
    assert "artificer/py.typed" in files
    tops = {name.partition("/")[0] for name in files if not name.startswith("..")}
    assert {top.partition("-")[0] for top in tops} == {"artificer"}
