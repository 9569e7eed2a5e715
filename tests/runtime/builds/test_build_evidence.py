"""Evidence of a validation: outputs and changed files."""

from __future__ import annotations

import pytest

from artificer.builds.gist import gist
from artificer.runtime.builds.evidence.checks import defines, rewritten
from artificer.runtime.builds.evidence.control import FOLDERS, NAMES, is_control
from artificer.runtime.builds.evidence.counts import Counted, counted
from artificer.runtime.builds.evidence.tests import FileChange, is_test, readable, weakened
from artificer.runtime.builds.evidence.weigh import Validation, only_old_failures, weigh

UNITTEST = "......\n" + "-" * 70 + "\nRan 6 tests in 0.001s\n\nOK (skipped=2)\n"
FAILED = "FAIL: test_a (test_x.T.test_a)\n\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n"
LOST = "ERROR: test_n (unittest.loader._FailedTest.test_n)\n\nRan 1 test in 0.000s\n\nFAILED"
GO_V = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\nFAIL\n"
CARGO = "running 3 tests\ntest a ... ok\ntest b ... FAILED\ntest c ... ignored\n\ntest result: "
CARGO += "FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out\n"
CARGO_0 = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n"
NODE = "ℹ tests 4\nℹ suites 0\nℹ pass 3\nℹ fail 0\nℹ skipped 1\n"  # node's sign
JEST = "Tests:       1 failed, 1 skipped, 2 passed, 4 total\nSnapshots:   0 total\n"


@pytest.mark.req("build-evidence-counts")
@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (UNITTEST, Counted(4, 2)),
        (FAILED, Counted(2, 0, frozenset({"test_a (test_x.T.test_a)"}))),
        (LOST, Counted(0, 0, frozenset({"test_n (unittest.loader._FailedTest.test_n)"}))),
        ("Ran 0 tests in 0.000s\n\nOK\n", Counted(0)),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", Counted(0)),
        ("no tests ran in 0.01s\n", Counted(0)),
        ("collected 0 items\n\n===== no tests ran in 0.01s =====\n", Counted(0)),
        ("3 passed in 0.01s\n", Counted(3)),
        ("3 passed, 2 skipped, 3 subtests passed in 0.01s\n", Counted(3, 2)),
        (
            "SUBFAILED(i=0) t.py::T::test_a - AssertionError\n"
            "SUBFAILED[a word] (i=1) t.py::T::test_a - AssertionError\n"
            "FAILED t.py::test_b - assert 0\n"
            "3 failed, 2 passed, 1 subtests passed in 0.1s\n",
            Counted(3, 0, frozenset({"t.py::T::test_a", "t.py::test_b"})),
        ),
        ("==== 1 failed, 2 passed, 1 skipped, 1 xfailed, 1 warning in 1.20s ====\n", Counted(3, 2)),
        (
            "FAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed in 0.1s\n",
            Counted(1, 0, frozenset({"tests/test_a.py::test_x"})),
        ),
        ("\x1b[32m3 passed\x1b[0m in 0.01s\n".replace("\x1b[0m", ""), Counted(3)),
        ("# tests 0\n# pass 0\n", Counted(0)),
        (NODE, Counted(3, 1)),
        ("ok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\n1..3\n", Counted(2, 1, frozenset({"b"}))),
        ("1..0\n", Counted(0)),
        ("?   \texample.org/a\t[no test files]\n", Counted(0)),
        ("ok  \texample.org/a\t0.01s [no tests to run]\n", Counted(0)),
        ("ok  \texample.org/a\t0.01s\n?   \texample.org/b\t[no test files]\n", None),
        (GO_V, Counted(2, 0, frozenset({"TestB"}))),
        (CARGO, Counted(2, 1, frozenset({"b"}))),
        (CARGO_0, Counted(0)),
        (CARGO_0 + CARGO, Counted(2, 1, frozenset({"b"}))),
        (JEST, Counted(3, 1)),
        (" Tests  2 passed (2)\n", Counted(2)),
        ("No tests found, exiting with code 0\n", Counted(0)),
        ("No test files found, exiting with code 0\n", Counted(0)),
        ("\n  3 passing (5ms)\n  1 pending\n", Counted(3, 1)),
        ("3 examples, 0 failures, 1 pending\n", Counted(2, 1)),
        ("Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s\n", None),
        ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1\n", Counted(4, 1)),
        ("OK (3 tests, 5 assertions)\n", Counted(3)),
        ("make: 'test' is up to date.\n", Counted(0)),
        ("make[1]: Entering directory '/x'\nmake[1]: Nothing to be done for 'a'.\n", Counted(0)),
        ("make: 'lib' is up to date.\nAll good\n", None),
        ("All checks passed!\n", None),
        ("", None),
        ("Ran the numbers in 3s. Tests: none of them.\n", None),
    ],
)
def test_what_runners_say(output: str, expected: Counted | None) -> None:
    assert counted(output) == expected


@pytest.mark.req("build-control-files")
@pytest.mark.parametrize(
    "path",
    [
        "artificer.toml", "sub/Artificer.TOML", ".artificer/prompts/code.md",
        ".github/workflows/ci.yml", "x/.GitHub/Workflows/ci.yml", ".gitlab-ci.yml",
        ".circleci/config.yml", "Jenkinsfile",
        "azure-pipelines.yml", ".envrc", "tests/conftest.py", "sitecustomize.py",
        "src/usercustomize.py", "x.pth", ".pre-commit-config.yaml", ".vscode/tasks.json",
        ".gitattributes", "sub/.gitmodules", "AGENTS.md", "docs/CLAUDE.md", ".cursorrules",
        ".cursor/rules/x.mdc", ".npmrc", ".cargo/config.toml", "tool.clad.toml", "artificer.toml. ",
        ".artificer", "sub/.Claude", ".github", ".github/workflows",  # links to other folders
        "sitecustomize/__init__.py", "src/usercustomize.cpython-312-x86_64-linux-gnu.so",
    ],
)  # fmt: skip
def test_control_files_are_known_wherever_they_are_and_however_written(path: str) -> None:
    assert is_control(path)


@pytest.mark.req("build-control-files")
def test_ordinary_files_are_no_control_files_and_the_list_is_lower_case() -> None:
    for path in ("README.md", "src/agents.py", "workflows/x.yml", "tests/test_conftest.py", "a/b"):
        assert not is_control(path)
    assert [*NAMES, *FOLDERS] == [name.casefold() for name in (*NAMES, *FOLDERS)]


TEST = "import unittest\n\nclass T(unittest.TestCase):\n"
TEST += "    def test_a(self):\n        self.assertEqual(1, 1)\n"
JS = "it('a', () => { expect(1) })"
TWO = TEST + "\n    def test_b(self):\n        self.assertEqual(2, 2)\n"


@pytest.mark.req("build-weakened-tests")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (FileChange("test_a.py", TEST, None), "was deleted"),
        (FileChange("test_a.py", TEST, ""), "was emptied"),
        (FileChange("test_a.py", TEST, "\n\n"), "was emptied"),
        (FileChange("test_a.py", TWO, TEST), "has 1 tests, and had 2"),
        (
            FileChange("test_a.py", TWO, TWO.replace("self.assertEqual(2, 2)", "pass")),
            "1 assertions",
        ),
        (FileChange("test_a.py", TEST, TEST.replace("    def", "    @skip\n    def")), "skips"),
        (FileChange("new/test_b.py", None, "pytest.skip('x', allow_module_level=True)\n"), "skips"),
        (FileChange("old.txt", TEST, TEST, "test_a.py"), "no runner takes for tests"),
        (FileChange("a.test.ts", JS, JS.replace("it", "it.skip")), "skips"),
        (FileChange("a.test.ts", JS, JS.replace("it", "it.only")), "skips"),
        (
            FileChange("x_test.go", "func TestA(t *testing.T) {}\n", "func helper() {}\n"),
            "has 0 tests",
        ),
        (
            FileChange("x_test.go", "func TestA(t *T) {}\n", "func TestA(t *T) { t.Skip() }\n"),
            "skips",
        ),
        (
            FileChange("tests/a.rs", "#[test]\nfn a() {}\n", "#[test]\n#[ignore]\nfn a() {}\n"),
            "skips",
        ),
    ],
)  # fmt: skip
def test_weakened_tests_are_seen(change: FileChange, said: str) -> None:
    assert said in " ".join(weakened(change))


@pytest.mark.req("build-weakened-tests")
@pytest.mark.parametrize(
    "change",
    [
        FileChange("test_a.py", TEST, TWO),
        FileChange("tests/test_a.py", TEST, TEST, "test_a.py"),
        FileChange("src/a.py", "def f(): ...\n", None),
        FileChange("test_new.py", None, TWO),
        FileChange("README.md", "assert\n", ""),
    ],
)
def test_ordinary_work_weakens_nothing(change: FileChange) -> None:
    assert list(weakened(change)) == []


@pytest.mark.req("build-weakened-tests")
def test_files_of_tests_are_known_by_their_usual_names() -> None:
    for path in ("test_a.py", "a_test.go", "src/a.test.tsx", "tests/x.py", "spec/a_spec.rb"):
        assert is_test(path), path
    for path in ("a.py", "contest.py", "tests/README.md", "src/testing_tools.txt", "latest.js"):
        assert not is_test(path), path


MAKE = "test: unit\n\t@./run.sh --all\nunit:\n\tpython tools/unit.py\nmain: main.c\n\tcc main.c\n"
PACKAGE = '{"scripts": {"test": "node scripts/check.js && jest", "start": "node app.js"}}'
BASE = {"Makefile": MAKE, "package.json": PACKAGE}.get


@pytest.mark.req("build-rewritten-check")
@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("make test", FileChange("Makefile", MAKE, "test:\n\ttrue\n")),
        ("make test", FileChange("Makefile", MAKE, None)),
        ("make test", FileChange("run.sh", "x", "y")),
        ("make test", FileChange("tools/unit.py", "x", "y")),
        ("make test", FileChange("sub.mk", "a:\n", "b:\n")),
        ("make test", FileChange("GNUmakefile", None, "test:\n\t@echo ok 1\n")),
        ("make test", FileChange("makefile", "test:\n", "test:\n", "notes.txt")),
        ("npm test", FileChange("package.json", PACKAGE, '{"scripts": {"test": "true"}}')),
        ("npm test", FileChange("package.json", PACKAGE, "not JSON")),
        ("npm test", FileChange("scripts/check.js", "x", "y")),
        ("npm test", FileChange("jest.config.js", "x", "y")),
        (
            "python -m pytest",
            FileChange("pytest.ini", "[pytest]\n", "[pytest]\naddopts = -k nothing\n"),
        ),
        (
            "python -m pytest",
            FileChange("pyproject.toml", "", "[tool.pytest.ini_options]\naddopts = '--co'\n"),
        ),
        ("python -m pytest", FileChange("tox.ini", "", "[pytest]\n")),
        ("python -m unittest", FileChange("unittest.py", None, "")),
        ("python -m pytest", FileChange("src/pytest/__main__.py", None, "")),
        ("python -m unittest", FileChange("unittest", None, "")),  # a link to a folder
        ("python -m unittest", FileChange("unittest.cpython-312-darwin.so", None, "")),
        ("cargo test", FileChange("Cargo.toml", "", "[lib]\ntest = false\n")),
    ],
)
def test_a_rewritten_check_is_seen(line: str, change: FileChange) -> None:
    assert rewritten(line, [change], BASE)


@pytest.mark.req("build-rewritten-check")
@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("make test", FileChange("main.c", "x", "y")),
        ("python -m pytest", FileChange("Makefile", MAKE, "")),
        ("npm test", FileChange("package.json", PACKAGE, PACKAGE[:-1] + ', "type": "module"}')),
        ("npm test", FileChange("lib.js", "x", "y")),
        ("python -m pytest", FileChange("pyproject.toml", "", "[project]\nname = 'x'\n")),
        ("cargo test", FileChange("Cargo.toml", "", "[dependencies]\nx = '1'\n")),
        ("make test", FileChange("tests/test_a.py", "x", "y")),
        ("make test", FileChange("sub/GNUmakefile", None, "y")),
        ("python -m unittest", FileChange("unittest/README.md", None, "y")),
    ],
)  # fmt: skip
def test_ordinary_work_rewrites_no_check(line: str, change: FileChange) -> None:
    assert rewritten(line, [change], BASE) == []


GOOD, BAD = Counted(2), Counted(2, 0, frozenset({"test_a (x.T.test_a)"}))


def weighed(
    before: Validation, after: Validation, *changes: FileChange
) -> tuple[bool, list[str], str]:
    made = weigh("make test", before, after, changes, BASE)
    return made.passed, [concern.kind for concern in made.concerns], made.report


@pytest.mark.req("build-evidence")
def test_what_a_validation_is_worth_depends_on_what_it_said_before() -> None:
    failed, passed = Validation(False, "r"), Validation(True, "")
    assert weighed(failed, passed) == (True, [], ""), "it failed, and passes now"
    assert weighed(passed, passed)[1] == ["regression"], "and nobody knows what ran"
    two, three = Validation(True, "", GOOD), Validation(True, "", Counted(3))
    assert weighed(two, two)[1] == ["regression"]
    assert weighed(two, three)[1] == []
    assert weighed(three, two)[1] == ["tests", "regression"], "fewer tests ran"
    none = weighed(failed, Validation(True, "said", Counted(0)))
    assert none[:2] == (False, []) and "No test ran" in none[2]
    skipped = Validation(True, "", Counted(3, 1))
    assert weighed(two, skipped)[1] == ["tests"]


@pytest.mark.req("build-old-failures")
def test_a_failure_that_is_older_than_the_change_is_told_from_a_new_one() -> None:
    old, new = Validation(False, "old", BAD), Validation(False, "new", Counted(3, 0, BAD.failed))
    assert weighed(old, new)[:2] == (False, ["old_failure"])
    worse = Validation(False, "worse", Counted(3, 0, BAD.failed | {"test_b (x.T.test_b)"}))
    passed, kinds, report = weighed(old, worse)
    assert not passed and not kinds and "These failed before the change as well: test_a" in report
    assert not only_old_failures(Validation(True, "", GOOD), new)
    fewer = Validation(False, "", Counted(1, 0, BAD.failed))
    assert not only_old_failures(old, fewer), "some that passed do not run any more"
    lost = frozenset({"test_n (unittest.loader._FailedTest.test_n)"})
    unloaded = Validation(False, "", Counted(1, 0, lost))
    assert not only_old_failures(unloaded, unloaded), "what cannot be loaded is no test"
    silent = Validation(False, "r")
    assert weighed(silent, silent)[:2] == (False, []), "nobody knows what failed"


@pytest.mark.req("build-rewritten-check")
def test_a_check_that_the_change_itself_makes_counts_only_with_a_number_of_tests() -> None:
    made = FileChange("Makefile", None, "test:\n\ttrue\n")
    assert defines("make test", made)
    moved = FileChange("Makefile", "test:\n", "test:\n", "notes.txt")
    assert defines("make test", moved)
    assert not defines("make test", FileChange("sub.mk", "a:\n", "a:\n", "old.mk"))
    failed = Validation(False, "no rule")
    assert weighed(failed, Validation(True, ""), made)[1] == ["check"]
    assert weighed(failed, Validation(True, "", Counted(3)), made)[1] == []


@pytest.mark.req("build-gist")
def test_the_gist_is_the_first_fault_and_the_last_lines() -> None:
    rule = "=" * 70
    report = f"""$ python -m unittest -q
exit code 1
--- errors
{rule}
FAIL: test_b (test_x.T.test_b)
{"-" * 70}
Traceback (most recent call last):
  File "test_x.py", line 5, in test_b
    self.assertEqual(value(), 1)
AssertionError: 2 != 1

{rule}
FAIL: test_c (test_x.T.test_c)
{"-" * 70}
Traceback (most recent call last):
  File "test_x.py", line 8, in test_c
    self.assertTrue(False)
AssertionError: False is not true

{"-" * 70}
Ran 2 tests in 0.000s

FAILED (failures=2)"""
    lines = gist(report).splitlines()
    assert lines[0] == "AssertionError: 2 != 1"
    assert lines[-2:] == ["Ran 2 tests in 0.000s", "FAILED (failures=2)"]
    assert all(rule not in line for line in lines)
    assert gist("") == "" and gist("one") == "one"
    assert len(gist("x" * 100_000)) < 1_000


HOSTILE = (
    "\n" * 60_000,
    " " * 60_000 + "x",
    "not ok 1 " + " " * 60_000 + "x",
    "test result: " + "1" * 60_000,
    "it.each" * 10_000,
    "(" * 60_000,
    "1 a, " * 12_000,
    "[" * 60_000,
    '{"scripts":' * 10_000,
    "FAIL: " * 10_000,
    ("=" * 399 + "\n") * 150,
)


@pytest.mark.req("build-evidence-counts")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_read_in_no_time_and_prove_nothing(text: str) -> None:
    assert counted(text) in (None, Counted(0))
    change = FileChange("tests/test_a.py", readable("assert\n" + text), readable(text))
    assert all(isinstance(said, str) for said in weakened(change))
    for name in ("package.json", "Cargo.toml", "pyproject.toml", "Makefile", "tox.ini"):
        for line in ("npm test", "cargo test", "python -m pytest", "make test"):
            rewritten(line, [FileChange(name, "", readable(text))], {name: readable(text)}.get)
    assert len(gist(text)) < 2_000
