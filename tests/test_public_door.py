"""The one door: what it offers is locked, costs nothing to open, and says what it is."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_origin

import pytest

import artificer
from artificer import extend, ports, types

PUBLIC = {
    "Agent",
    "Audio",
    "File",
    "Image",
    "Brief",
    "ForkChanges",
    "ModelSettings",
    "Answer",
    "AnswerCall",
    "Approver",
    "ArtifactRef",
    "ArtificerError",
    "AuthorError",
    "BlobStore",
    "BuildOptions",
    "BugError",
    "Call",
    "Capabilities",
    "Cancel",
    "Clock",
    "Condition",
    "Config",
    "Consent",
    "Decide",
    "Decider",
    "Deliverable",
    "Executor",
    "Finding",
    "Grant",
    "FollowUp",
    "Interrupt",
    "Host",
    "Journal",
    "Limits",
    "ModelError",
    "Observer",
    "OperatorError",
    "Pause",
    "Policy",
    "Provider",
    "Question",
    "Receipt",
    "Replay",
    "Resolve",
    "ResponseFormat",
    "Retry",
    "RunContext",
    "Revise",
    "Rule",
    "Run",
    "RunStream",
    "ScriptedProvider",
    "Steer",
    "Storage",
    "Tick",
    "ToolChoice",
    "ToolDefinition",
    "Usage",
    "World",
    "lifespan",
    "load_config",
    "rerun",
    "resume",
    "run",
    "tool",
}
"""A name that is added or removed here is a change of the public interface: see CHANGELOG.md."""


@pytest.mark.req("door-locked")
def test_the_public_names_are_these() -> None:
    assert len(artificer.__all__) == len(set(artificer.__all__))
    assert set(artificer.__all__) == PUBLIC
    assert set(dir(artificer)) == {*PUBLIC, "__version__"}


@pytest.mark.req("door-locked")
@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(artificer, name)
    documented = value.__doc__ if get_origin(value) is None else get_args(value)
    assert documented
    assert not str(documented).startswith(f"{name}("), "a generated docstring says nothing"
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__module__.startswith("artificer.")


@pytest.mark.req("door-locked")
def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Chain'"):
        _ = artificer.Chain  # type: ignore[attr-defined]


@pytest.mark.req("door-types")
@pytest.mark.parametrize("name", types.__all__)
def test_every_type_of_a_public_signature_is_there(name: str) -> None:
    assert getattr(types, name) is not None
    assert name in dir(types)
    assert name not in artificer.__all__


@pytest.mark.req("door-types")
def test_a_type_checker_finds_the_same_types() -> None:
    stub = Path(inspect.getfile(types)).with_suffix(".pyi")
    seen = [
        (alias.name, f"{node.module}.{alias.asname}")
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(seen) == sorted((n, f"artificer.{home}.{n}") for n, home in types._HOME.items())


@pytest.mark.req("door-types")
def test_an_unknown_type_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Chain'"):
        _ = types.Chain  # type: ignore[attr-defined]


@pytest.mark.req("door-parameters")
def test_type_checkers_see_the_fields_of_what_people_make() -> None:
    """Pyright takes the `__call__` of a metaclass for the signature of its classes."""
    offered = [getattr(door, name) for door in (artificer, types) for name in door.__all__]
    kinds = {base for one in offered if isinstance(one, type) for base in type(one).__mro__}
    own = [kind for kind in kinds if kind.__module__.startswith("artificer.")]
    assert any("__call__" in vars(kind) for kind in own)
    for kind in own:
        (defined,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(defined, ast.ClassDef)
        seen = [node.name for node in defined.body if isinstance(node, ast.FunctionDef)]
        assert "__call__" not in seen, kind


@pytest.mark.req("door-cheap")
@pytest.mark.parametrize("door", ["artificer", "artificer.types", "artificer.extend"])
def test_importing_loads_prints_and_writes_nothing(door: str, tmp_path: Path) -> None:
    heavy = "pydantic", "asyncio", "click", "sqlite3", "logging", "json"
    code = f"import sys, {door}; sys.exit(' '.join({set(heavy)!r} & set(sys.modules)) or 0)"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "ARTIFICER_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("plugin-door")
@pytest.mark.parametrize("name", extend.__all__)
def test_every_name_for_packages_is_there(name: str) -> None:
    assert getattr(extend, name) is not None
    assert name in dir(extend)
    assert name not in {*artificer.__all__, *types.__all__, *ports.__all__}
    assert extend.__all__ == [*extend._HOMES]


@pytest.mark.req("plugin-door")
def test_a_type_checker_finds_the_same_names_for_packages() -> None:
    seen = {
        alias.name: (node.module or "").removeprefix("artificer.")
        for node in ast.walk(ast.parse(Path(inspect.getfile(extend)).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("artificer.")
        for alias in node.names
    }
    assert seen == extend._HOMES


@pytest.mark.req("plugin-door")
def test_an_unknown_name_for_packages_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Chain'"):
        _ = extend.Chain  # type: ignore[attr-defined]


PUBLIC_MODULES = {"artificer", *(f"artificer.{m}" for m in ("errors", "extend", "ports", "types"))}


@pytest.mark.req("plugin-door")
def test_the_example_plug_in_uses_public_names_alone() -> None:
    plugin = Path(__file__).parents[1] / "examples" / "plugin"
    used = {
        node.module
        for file in plugin.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("artificer.")
    }
    private = {name for name in used if not name.startswith("artificer.testing.")}
    assert private - PUBLIC_MODULES == set()
