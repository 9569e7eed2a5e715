"""The README, here and as package registries show it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import artificer

ROOT = Path(__file__).parents[2]
RELATIVE = re.compile(r"\]\((?!https://)([^)]+)\)")


@pytest.mark.req("readme-registry")
def test_a_registry_shows_a_readme_whose_links_work() -> None:
    if find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed: pip install hatchling")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    metadata = json.loads(done.stdout)
    assert RELATIVE.findall(metadata["readme"]["text"]) == []
    repository = metadata["urls"]["Repository"]
    paths = re.findall(rf"\({repository}/(?:blob|raw)/main/([^)#]+)", metadata["readme"]["text"])
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert {"Repository", "Documentation", "Changelog", "Issues"} <= metadata["urls"].keys()


@pytest.mark.req("readme-registry")
def test_the_pictures_are_small_and_drawn_by_our_own_script() -> None:
    pictures = ROOT / "docs" / "pictures"
    source = (pictures / "make.py").read_text(encoding="utf-8")
    scenes = (ROOT / "tests" / "studio" / "scene_list.py").read_text(encoding="utf-8")
    for picture in pictures.glob("*.png"):
        scene = picture.stem.removeprefix("studio-")
        assert picture.name in source or f'"{scene}"' in scenes
        assert picture.stat().st_size < 400_000


@pytest.mark.req("changelog-releases")
def test_the_changelog_begins_with_this_release() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0].split()[0] == artificer.__version__
    assert [h for h in headings if not re.match(r"\d+\.\d+\.\d+\b", h)] == []
