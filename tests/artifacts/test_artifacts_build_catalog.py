"""create_plan, create_spec, create_phase and submit_verdict: schemas, rules, the stored form."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from build_artifact_builders import VALID, phase, plan, pointers, problems, spec
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts import build_catalog, catalog
from artificer.artifacts.build_catalog import RequiredArtifact
from artificer.artifacts.command_line import split_command
from artificer.artifacts.names import NAME_PATTERN, normal_name, path_fault
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan
from artificer.contracts.definition import Toolset
from artificer.core.gate import judge
from artificer.core.policy import Policy
from artificer.errors import OperatorError
from artificer.values.blocks import ToolUseBlock
from artificer.values.canon import canonical

CASES = Path(__file__).parents[1] / "cases" / "artifacts" / "loop_tools.json"
ADDED = ("additionalProperties", "description", "minLength", "maxLength", "pattern")
BOUNDED_HERE = ("non_goals", "risks", "dependencies", "files", "acceptance_criteria", "tasks")


def bare(schema: Any, name: str = "") -> Any:
    """The schema without what we add to the seed's: words, bounds of texts and of open lists."""
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if k not in ADDED}
    if name in (*BOUNDED_HERE, "success_criteria"):
        kept = {k: v for k, v in kept.items() if k not in ("minItems", "maxItems")}
    if "properties" in kept:
        kept["properties"] = {k: bare(v, k) for k, v in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = bare(kept["items"])
    return kept


def call(name: str, arguments: dict[str, Any], call_id: str = "c1") -> ToolUseBlock:
    return ToolUseBlock(id=call_id, name=name, arguments=json.dumps(arguments))


@pytest.mark.req("plan-schemas")
@pytest.mark.parametrize("kind", ["plan", "spec", "phase"])
def test_members_types_counts_and_choices_are_exactly_the_seeds(kind: Any) -> None:
    tool = build_catalog.tool_for(RequiredArtifact(kind=kind))
    ours = bare(tool.input_schema)
    if kind == "plan":  # the one member that the seed does not have
        assert ours["properties"].pop("constants")
    assert ours == json.loads(CASES.read_text())[tool.name]
    assert tool.backend == "artifact" and tool.effect == "pure"


@pytest.mark.req("plan-schemas")
@pytest.mark.parametrize(
    ("arguments", "kind", "told"),
    [
        (plan("a"), "plan", "Plan created with 1 spec"),
        (plan("a", "b"), "plan", "Plan created with 2 specs"),
        (spec(4), "spec", "Spec created with 4 phases"),
        (phase(), "phase", "Phase created with 1 task"),
    ],
)
def test_the_model_is_told_what_was_created(arguments: Any, kind: Any, told: str) -> None:
    assert problems(arguments, kind) == ()
    name = build_catalog.tool_for(RequiredArtifact(kind=kind)).name
    assert build_catalog.describe(name, build_catalog.store(name, arguments)) == told


@pytest.mark.req("plan-counts")
@pytest.mark.parametrize(("count", "valid"), [(0, False), (1, True), (10, True), (11, False)])
def test_a_plan_has_one_to_ten_specs(count: int, valid: bool) -> None:
    found = problems(plan(*[f"s{n}" for n in range(count)]), "plan")
    assert (found == ()) is valid
    assert all(problem.pointer == "/specs" for problem in found)


@pytest.mark.req("plan-counts")
@pytest.mark.parametrize(("count", "valid"), [(2, False), (3, True), (7, True), (8, False)])
def test_a_spec_has_three_to_seven_phases(count: int, valid: bool) -> None:
    found = problems(spec(count), "spec")
    assert (found == ()) is valid
    assert all(problem.pointer == "/phases" for problem in found)


@pytest.mark.req("plan-counts")
def test_a_phase_has_a_task_and_a_command() -> None:
    assert pointers({**phase(), "tasks": []}, "phase") == ["/tasks"]
    assert pointers({**phase(), "validation_command": ""}, "phase") == ["/validation_command"]
    assert pointers({**phase(), "validation_command": "  "}, "phase") == ["/validation_command"]


@pytest.mark.req("plan-names")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("user-auth", "user-auth"),
        ("user-auth", "User-Auth"),
        ("user-auth", "user_auth"),
        ("user-auth", "user  auth"),
        ("user-auth", "user–auth"),
        ("user-auth", "ｕｓｅｒ-ａｕｔｈ"),
        ("cafe", "Café"),
        ("a1", "a\u20601"),
    ],
)
def test_names_that_normalise_to_the_same_are_repeats(first: str, second: str) -> None:
    found = problems(plan(first, second), "plan")
    assert any(p.pointer == "/specs/1/name" and "/specs/0/name" in p.message for p in found)
    phases = spec(3)
    phases["phases"][0]["name"], phases["phases"][2]["name"] = first, second
    assert any("repeats" in p.message for p in problems(phases, "spec"))


@pytest.mark.req("plan-names")
@pytest.mark.parametrize("name", ["User", "a_b", "-a", "a-", "a--b", "../x", "a/b", "é", "a" * 49])
def test_a_name_that_is_not_kebab_case_is_refused_with_one_that_is(name: str) -> None:
    found = problems(plan(name), "plan")
    assert found and {p.pointer for p in found} == {"/specs/0/name"}
    suggested = [p.limit for p in found if p.message == "use this name instead"]
    for suggestion in suggested:
        assert problems(plan(str(suggestion)), "plan") == ()


@pytest.mark.req("plan-names")
@pytest.mark.parametrize("name", ["con", "nul", "com1", "head"])
def test_a_reserved_name_is_refused(name: str) -> None:
    assert pointers(plan(name), "plan") == ["/specs/0/name"]


@pytest.mark.req("plan-names")
@given(st.text(max_size=200))
def test_a_normal_name_is_kebab_case_and_stays_as_it_is(text: str) -> None:
    import re

    name = normal_name(text)
    assert name == "" or (re.fullmatch(NAME_PATTERN[1:-1], name) and len(name) <= 48)
    assert normal_name(name) == name


@pytest.mark.req("plan-parent")
def test_a_child_has_the_name_that_its_parent_gave_it() -> None:
    owed = RequiredArtifact(kind="spec", name="auth")
    assert problems(spec(name="auth"), owed) == ()
    (found,) = problems(spec(name="login"), owed)
    assert (found.pointer, found.limit, found.actual) == ("/name", ("auth",), "login")
    assert pointers(phase(name="other"), RequiredArtifact(kind="phase", name="phase-1")) == [
        "/name"
    ]


@pytest.mark.req("plan-parent")
def test_a_validation_command_begins_with_one_that_is_allowed() -> None:
    owed = RequiredArtifact(kind="phase", commands=("make test", "python -m pytest"))
    for line in ("make test", "python -m pytest -q tests/test_a.py"):
        assert problems(phase(command=line), owed) == ()
    for line in ("make tests", "rm -rf x", "python -m pytestx"):
        (found,) = problems(phase(command=line), owed)
        assert found.pointer == "/validation_command" and "make test" in str(found.limit)


@pytest.mark.req("plan-parent")
def test_what_is_fixed_for_one_run_is_not_fixed_for_another() -> None:
    before = build_catalog.tool_for(RequiredArtifact(kind="judgement")).input_schema
    build_catalog.tool_for(RequiredArtifact(kind="judgement", criteria=3))
    assert build_catalog.tool_for(RequiredArtifact(kind="judgement")).input_schema == before


@pytest.mark.req("plan-caller")
@pytest.mark.parametrize("owed", ["plan", "spec", "phase", "judgement"])
def test_a_run_can_only_make_what_it_owes_and_is_told_which_tool_that_is(owed: Any) -> None:
    offered = build_catalog.tool_for(RequiredArtifact(kind=owed))
    for kind, arguments in VALID.items():
        name = build_catalog.tool_for(RequiredArtifact(kind=kind)).name
        (verdict,) = judge(
            (call(name, arguments),),
            toolset=Toolset(tools=(offered,)),
            policy=Policy(),
            made=(),
            limit=32,
            stop="tool_use",
        )
        assert verdict.verdict == ("allow" if kind == owed else "unknown_tool")
        if kind != owed:
            assert offered.name in verdict.content


@pytest.mark.req("plan-problems")
def test_all_problems_of_a_plan_are_told_at_once_with_their_places() -> None:
    bad = plan("Auth", "auth", "c", auth=["auth", "nowhere", 3], c=["auth", "auth"])
    bad["title"] = " "
    bad["specs"][2]["description"] = "\t"
    bad["specs"][2].pop("title")
    bad["risks"] = ["", "\u200b"]
    bad["colour"] = "red"
    del bad["overview"]
    assert sorted(pointers(bad, "plan")) == sorted(
        [
            "/colour",
            "/overview",
            "/title",
            "/risks/0",
            "/risks/1",
            "/specs/0/name",
            "/specs/0/name",
            "/specs/1/name",
            "/specs/1/dependencies/0",
            "/specs/1/dependencies/1",
            "/specs/1/dependencies/2",
            "/specs/2/title",
            "/specs/2/description",
            "/specs/2/dependencies/1",
        ]
    )


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.mark.req("plan-problems")
@pytest.mark.parametrize("kind", ["plan", "spec", "phase", "judgement"])
@given(data=st.data())
def test_whatever_shape_the_arguments_have_there_are_problems_and_no_exception(
    kind: Any, data: st.DataObject
) -> None:
    arguments = copy.deepcopy(VALID[kind])
    place: Any = arguments
    while isinstance(place, dict | list) and place:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()):
            place[key] = data.draw(ANY_JSON)
            break
        place = place[key]
    if problems(arguments, kind) == ():
        name = build_catalog.tool_for(RequiredArtifact(kind=kind)).name
        stored = build_catalog.store(name, arguments)
        assert build_catalog.read(kind, stored.canonical()) == stored


@pytest.mark.req("plan-problems")
def test_arguments_that_are_text_in_the_place_of_an_object_are_told_to_the_model() -> None:
    (verdict,) = judge(
        (ToolUseBlock(id="c", name="create_plan", arguments=json.dumps(json.dumps(plan("a")))),),
        toolset=Toolset(tools=(build_catalog.tool_for(RequiredArtifact(kind="plan")),)),
        policy=Policy(),
        made=(),
        limit=32,
        stop="tool_use",
    )
    assert verdict.verdict == "invalid" and verdict.problems


@pytest.mark.req("plan-dependencies")
@pytest.mark.parametrize(
    ("graph", "place", "told"),
    [
        ({"a": ["a"]}, "/specs/0/dependencies/0", "a → a"),
        ({"a": ["b"], "b": ["a"]}, "/specs/0/dependencies", "a → b → a"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, "/specs/0/dependencies", "a → b → c → a"),
        ({"x": [], "a": ["x", "b"], "b": ["a"]}, "/specs/1/dependencies", "a → b → a"),
        ({"a": ["missing"]}, "/specs/0/dependencies/0", "no name of this plan"),
        ({"user-auth": [], "b": ["User Auth"]}, "/specs/1/dependencies/0", "write 'user-auth'"),
        ({"a": [], "b": ["a", "a"]}, "/specs/1/dependencies/1", "twice"),
    ],
)
def test_dependencies_that_cannot_be_met_are_named(
    graph: dict[str, list[str]], place: str, told: str
) -> None:
    arguments = plan(*graph)
    for entry, dependencies in zip(arguments["specs"], graph.values(), strict=True):
        entry["dependencies"] = dependencies
    (found,) = problems(arguments, "plan")
    assert found.pointer == place
    assert told in found.message


@pytest.mark.req("plan-dependencies")
def test_a_diamond_is_no_cycle_and_two_cycles_are_two_problems() -> None:
    assert problems(plan("a", "b", "c", "d", b=["a"], c=["a"], d=["b", "c"]), "plan") == ()
    two = problems(plan("a", "b", "c", "d", a=["b"], b=["a"], c=["d"], d=["c"]), "plan")
    assert [p.message for p in two] == ["is a cycle: a → b → a", "is a cycle: c → d → c"]


@pytest.mark.req("plan-paths")
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../up.py",
        "a/../../b",
        "a//b",
        "./a",
        "a/.",
        "~/x",
        "C:/x",
        "a\\b",
        ".git/config",
        "sub/.GIT/hooks/x",
        ".g\u200cit/config",
        "GIT~1/config",
        ".gitmodules",
        "a\nb",
        "a\x00b",
        "src/*.py",
        "-rf",
        "a ",
        "a./b",
        "aux.c",
        "x" * 241,
    ],
)
def test_a_path_stays_in_the_project_and_out_of_git(path: str) -> None:
    assert path_fault(path) and path_fault(path, folders=True)
    found = pointers(phase({"description": "x", "file": path}), "phase")
    assert found and set(found) == {"/tasks/0/file"}
    files = spec()
    files["phases"][1]["files"] = ["ok.py", path]
    assert set(pointers(files, "spec")) == {"/phases/1/files/1"}


@pytest.mark.req("plan-paths")
@pytest.mark.parametrize(
    "path", ["a.py", "src/a b.py", ".gitignore", ".github/x.yml", "app/[id]/é.tsx"]
)
def test_ordinary_paths_are_fine_and_only_a_scope_may_be_a_folder(path: str) -> None:
    assert path_fault(path) is None and path_fault(f"{path}/", folders=True) is None
    assert path_fault(f"{path}/")


@pytest.mark.req("plan-command")
@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("cargo test", ("cargo", "test")),
        ("python -m pytest -q 'tests/a b.py'", ("python", "-m", "pytest", "-q", "tests/a b.py")),
        ("pytest -k 'a or (b)' -x", ("pytest", "-k", "a or (b)", "-x")),
        ("grep '$x' f", ("grep", "$x", "f")),
    ],
)
def test_a_command_line_is_split_as_a_shell_would(line: str, argv: tuple[str, ...]) -> None:
    assert split_command(line) == argv


@pytest.mark.req("plan-command")
@pytest.mark.parametrize(
    "line",
    [
        "pytest | tail",
        "pytest && true",
        "a;b",
        "a > f",
        "a &",
        "(a)",
        "echo $HOME",
        'echo "`x`"',
        "X=1 pytest",
        "a\nb",
        "'unclosed",
        "''",
    ],
)
def test_what_needs_a_shell_is_told_to_the_model(line: str) -> None:
    assert pointers(phase(command=line), "phase") == ["/validation_command"]


@pytest.mark.req("plan-stored")
def test_what_is_stored_has_its_format_and_every_default() -> None:
    stored = build_catalog.store("create_plan", plan("a"))
    assert isinstance(stored, Plan)
    assert json.loads(stored.canonical()) == {
        **plan("a"),
        "specs": [{**plan("a")["specs"][0], "dependencies": []}],
        "non_goals": [],
        "risks": [],
        "constants": [],
        "format": "artificer/plan/1",
    }
    made = build_catalog.store("create_phase", phase({"description": "x", "file": "a.py"}))
    assert isinstance(made, Phase) and made.files == ("a.py",)


@pytest.mark.req("plan-stored")
@pytest.mark.parametrize("change", [{"format": "artificer/plan/2"}, {"new": 1}, {"title": None}])
def test_what_a_newer_release_stored_is_refused_and_never_guessed(change: dict[str, Any]) -> None:
    whole = {**json.loads(build_catalog.store("create_plan", plan("a")).canonical()), **change}
    with pytest.raises(OperatorError, match="cannot be read"):
        build_catalog.read("plan", canonical(whole))
    with pytest.raises(OperatorError):
        build_catalog.read("spec", build_catalog.store("create_plan", plan("a")).canonical())


@pytest.mark.req("plan-stored")
def test_a_later_call_of_a_run_takes_the_place_of_an_earlier_one() -> None:
    assert catalog.identity("create_plan", plan("a"))[:2] == ("plan", "plan")
    assert catalog.identity("create_spec", spec())[:2] == ("spec", "auth")


@pytest.mark.req("judge-verdict")
def test_a_verdict_that_contradicts_itself_is_refused() -> None:
    met = {"criterion": 1, "met": True, "evidence": "seen"}
    unmet = {**met, "met": False}
    owed = RequiredArtifact(kind="judgement", criteria=1)
    assert problems({"verdict": "accept", "criteria": [met]}, owed) == ()
    assert problems({"verdict": "reject", "criteria": [unmet]}, owed) == ()
    assert problems({"verdict": "reject", "criteria": [met], "problems": ["unsafe"]}, owed) == ()
    assert pointers({"verdict": "accept", "criteria": [unmet]}, owed) == ["/verdict"]
    assert pointers({"verdict": "reject", "criteria": [met]}, owed) == ["/verdict"]
    assert pointers({"verdict": "does not PASS", "criteria": [met]}, owed) == ["/verdict"]


@pytest.mark.req("judge-verdict")
def test_every_criterion_is_judged_once() -> None:
    met = {"criterion": 1, "met": True, "evidence": "seen"}
    owed = RequiredArtifact(kind="judgement", criteria=2)
    assert pointers({"verdict": "accept", "criteria": [met]}, owed) == ["/criteria"]
    assert pointers({"verdict": "accept", "criteria": [met, met]}, owed) == [
        "/criteria/1/criterion"
    ]
    other = {**met, "criterion": 3}
    assert pointers({"verdict": "accept", "criteria": [met, other]}, owed) == [
        "/criteria/1/criterion"
    ]
    assert pointers({"verdict": "accept"}, owed) == ["/criteria"]
