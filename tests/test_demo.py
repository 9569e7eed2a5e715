"""The demo: facts of a checkout, with and without git, and a page whose numbers are bound."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "demo"
sys.path.append(str(DEMO))

import checkout  # noqa: E402
import flip  # noqa: E402
import page  # noqa: E402
import prose  # noqa: E402
import refused  # noqa: E402

from artificer import World, load_config  # noqa: E402
from artificer.artifacts.placeholder import find  # noqa: E402
from artificer.providers.local_fetch import MODEL_FILE, model_path  # noqa: E402
from artificer.providers.local_text import rules_of  # noqa: E402
from artificer.testing import ScriptedProvider, call, reply  # noqa: E402
from needs import require  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small checkout without git, which the tools read in place of this one."""
    place = tmp_path / "checkout"
    for name, text in (("src/a/one.py", "x\ny\n"), ("README.md", "z\n"), ("src/a/pic", "\0")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    with monkeypatch.context() as changed:
        changed.setenv("DEMO_CHECKOUT", str(place))
        importlib.reload(checkout)
        yield place
    importlib.reload(checkout)


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(folder), *names, *arguments], check=True, capture_output=True)


@pytest.mark.req("demo-facts")
class TestTheFacts:
    def test_are_those_of_the_folder_without_git(self, folder: Path) -> None:
        found = checkout.count_files()
        assert (found["files"], found["text_files"], found["lines"]) == (3, 2, 3)
        assert found["languages"] == [
            {"language": "Python", "lines": 2, "files": 1},
            {"language": "Markdown", "lines": 1, "files": 1},
        ]
        assert checkout.read_history()["known"] is False
        assert not checkout.has_history()

    def test_count_the_commits_that_git_has(self, folder: Path) -> None:
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "First")
        found = checkout.read_history()
        assert (found["known"], found["shallow"], found["commits"]) == (True, False, 1)
        assert len(found["hours"]) == 1  # type: ignore[arg-type]


@pytest.mark.req("demo-page")
class TestThePage:
    def test_says_no_number_of_its_own(self) -> None:
        for shallow in (False, True):
            for history in (False, True):
                rules = prose.grammar(shallow=shallow, history=history)
                assert "root" not in rules_of(rules)
                said = rules.replace("\\n", "")
                assert not [letter for letter in said if letter.isdigit()]

    async def test_has_bound_figures_only_and_a_changed_byte_is_named(
        self, folder: Path, tmp_path: Path
    ) -> None:
        files = {"call": "count_files#1"}
        chart = {**files, "rows": "/folders", "label": "folder", "values": ["lines"]}
        script = [
            reply(call("count_files")),
            reply(call("read_history")),
            reply(call("create_value", id="files", data={**files, "at": "/files"})),
            reply(call("create_value", id="lines", data={**files, "at": "/lines"})),
            reply(call("create_bar_chart", id="folders", data=chart)),
            reply(call("create_pie_chart", id="folder-pie", data=chart)),
            reply(
                call(
                    "create_table",
                    table={"kind": "table", "id": "l", "data": {**files, "rows": "/languages"}},
                )
            ),
            "# A\n\n{{artifact:value:files}} {{artifact:value:lines}}\n\n"
            "{{artifact:chart:folders}}\n\n"
            "{{artifact:chart:folder-pie}}\n\n{{artifact:table:l}}",
        ]
        home = tmp_path / "home"
        async with World.open(load_config(home=home, project="demo")) as world:
            run = await world.run(page.PROMPT, page.agent(ScriptedProvider(script)))
            assert run.status == "completed"
            assert "Numbers typed by the model" not in run.markdown
            assert run.markdown.count("Data: ") == 5
            assert (await world.archive.verify()).sound
        (tmp_path / "copy").mkdir()
        assert flip.main(home, tmp_path / "copy") == 0
        async with World.open(load_config(home=tmp_path / "copy", project="demo")) as world:
            problems = (await world.archive.verify()).problems
        assert any("holds other bytes" in str(problem) for problem in problems)
        assert find(run.deliverable.narrative) if run.deliverable else False

    def test_shows_wrong_calls_with_their_pointers(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ARTIFICER_HOME", "unused")
        assert refused.main() == 0
        said = capsys.readouterr().out
        assert "/data/values/0/colour: is not a known parameter" in said
        assert "/data/values/0/column: is not a column" in said


@pytest.mark.req("demo-page")
def test_the_demo_itself_ends_with_a_command_that_works(folder: Path, tmp_path: Path) -> None:
    model = model_path(Path(os.environ.get("ARTIFICER_HOME", "~/.artificer")).expanduser())
    require("xllamacpp")
    require("vl_convert")
    require("the embedded model", model.exists())
    home = tmp_path / "home"
    (home / "models").mkdir(parents=True)
    (home / "models" / MODEL_FILE).symlink_to(model.resolve())
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "ARTIFICER_HOME": str(home),
        "DEMO_CHECKOUT": str(folder),
    }
    script = ["sh", str(DEMO / "demo.sh"), str(tmp_path / "report")]
    done = subprocess.run(
        script, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    assert "/data/values/0/colour: is not a known parameter" in said
    assert re.search(r"problem: The journal's blob sha256:\w+ holds other bytes", said)
    assert re.search(r"identical: \d+ events", said)
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert "Numbers typed by the model" not in page
    assert page.count("Data: count_files, call 1") >= 3
    assert (tmp_path / "report" / "made.html").exists()
    opening = said.splitlines()[-1].partition(":")[2].strip()
    assert opening.endswith("artificer studio --run last")
    with opened(f"{opening} --no-open --port 0", environment) as address:
        browser = build_opener(HTTPCookieProcessor())
        assert "<h1>" in browser.open(address).read().decode()


@contextmanager
def opened(command: str, environment: dict[str, str]) -> Iterator[str]:
    """Run the command that opens the studio until its address is no longer needed."""
    whole = ["sh", "-c", f"exec env {command}"]
    with subprocess.Popen(whole, env=environment, stdout=subprocess.PIPE, text=True) as studio:
        assert studio.stdout is not None
        try:
            yield studio.stdout.readline().strip()
        finally:
            studio.terminate()
