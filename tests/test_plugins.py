"""Registries of what installed packages add: what can be used, and what is wrong with the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

import pytest

from artificer.errors import ConfigError
from artificer.plugins import Registry, package_behind

GROUP = "artificer.testing_kettles"


@runtime_checkable
class Kettle(Protocol):
    def boil(self) -> str:
        """Boil water."""


class BuiltIn:
    def boil(self) -> str:
        return "built in"


BUILT_IN = BuiltIn()

GOOD = """
class Kettle:
    def boil(self):
        return 1 / 0
KETTLE = Kettle()
NUMBER = 1
"""


class Packages:
    """A folder of installed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, code: str, *entries: str, requires: str = "") -> None:
        """Install a package as pip does; ``entries`` are lines of its entry points."""
        (self.folder / f"{name}.py").write_text(code)
        info = self.folder / f"{name}-2.1.dist-info"
        info.mkdir()
        needs = f"Requires-Dist: {requires}\n" if requires else ""
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.1\n{needs}\n"
        )
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *entries, ""]))


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Packages]:
    before = {*sys.modules}
    sys.path.insert(0, str(tmp_path))
    yield Packages(tmp_path)
    sys.path.remove(str(tmp_path))
    for name in {*sys.modules} - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def kettles() -> Registry[Kettle]:
    here = f"{__name__}:BUILT_IN"
    return Registry(GROUP, Kettle, {"plain": here}, "kettle")  # type: ignore[type-abstract]


def refusal(name: str) -> ConfigError:
    with pytest.raises(ConfigError) as error:
        kettles().get(name)
    return error.value


@pytest.mark.req("plugin-unusable")
def test_two_packages_cannot_offer_the_same_name(packages: Packages) -> None:
    packages.install("kettle_one", GOOD, "whistling = kettle_one:KETTLE")
    packages.install("kettle_two", GOOD, "whistling = kettle_two:KETTLE")
    error = refusal("whistling")
    assert "is offered by kettle_one 2.1 and kettle_two 2.1" in error.message
    assert "Uninstall all but one of them" in str(error.hint)


@pytest.mark.req("plugin-unusable")
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("import not_here", "ModuleNotFoundError: No module named 'not_here'"),
        ("1 +", "SyntaxError"),
        ("", "AttributeError"),
        ("from artificer import NoSuchName as KETTLE", "ImportError: cannot import name"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("class Dumb(Exception):\n    __str__ = None\nraise Dumb", "Dumb: (no text)"),
        (
            "class Kettle:\n    __class__ = property(lambda _: 1 / 0)\nKETTLE = Kettle()",
            "ZeroDivis",
        ),
    ],
)
def test_one_that_cannot_be_imported_ends_no_program(
    packages: Packages, code: str, reason: str
) -> None:
    packages.install("kettle_odd", code, "odd = kettle_odd:KETTLE")
    error = refusal("odd")
    assert f"The plug-in 'odd' of kettle_odd 2.1 ({GROUP}) cannot be imported" in error.message
    assert reason in error.message
    assert error.hint == "Update kettle_odd 2.1, or uninstall it."


@pytest.mark.req("plugin-unusable")
def test_a_long_reason_is_cut(packages: Packages) -> None:
    packages.install("kettle_long", "raise KeyError('x' * 100_000)", "long = kettle_long:KETTLE")
    assert len(refusal("long").message) < 1000


@pytest.mark.req("plugin-unusable")
def test_a_package_without_a_version_is_named(packages: Packages) -> None:
    packages.install("kettle_bare", "KETTLE = 1", "bare = kettle_bare:KETTLE")
    metadata = packages.folder / "kettle_bare-2.1.dist-info" / "METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: kettle_bare\n")
    assert f"The plug-in 'bare' of kettle_bare ({GROUP}) is of type" in refusal("bare").message
    metadata.unlink()
    assert "of a package without a name (" in refusal("bare").message


@pytest.mark.req("plugin-unusable")
@pytest.mark.parametrize("requires", ["artificer (>=9,<10)", "artificer[http]>=9,<10 ; x == 'y'"])
def test_one_for_another_release_says_for_which(packages: Packages, requires: str) -> None:
    code = "from artificer import NoSuchName"
    packages.install("kettle_new", code, "new = kettle_new:KETTLE", requires=requires)
    assert "It is made for artificer >=9,<10; this is " in str(refusal("new").hint)


@pytest.mark.req("plugin-unusable")
def test_what_is_of_another_kind_is_refused(packages: Packages) -> None:
    entries = ("class = kettle_a:Kettle", "number = kettle_a:NUMBER")
    packages.install("kettle_a", GOOD, *entries)
    error = refusal("class")
    assert "is the class Kettle, not an object" in error.message
    assert error.hint == "kettle_a:Kettle must name an instance of a kettle."
    error = refusal("number")
    assert "is of type int, not kettle" in error.message


@pytest.mark.req("plugin-unusable")
def test_what_is_built_in_cannot_be_replaced(packages: Packages) -> None:
    packages.install("kettle_b", GOOD, "plain = kettle_b:KETTLE", "good = kettle_b:KETTLE")
    registry = kettles()
    found = registry.get("plain")
    assert found is not None and found.boil() == "built in"
    assert "kettle_b" not in sys.modules
    assert [*map(registry.is_plug_in, ("good", "plain", "unknown"))] == [True, False, False]
    assert [(p.name, p.package, p.fault) for p in registry.plug_ins()] == [
        ("good", "kettle_b 2.1", ""),
        ("plain", "kettle_b 2.1", "'plain' is built in and cannot be replaced by kettle_b 2.1."),
    ]


@pytest.mark.req("plugin-blamed")
def test_an_error_in_a_plug_in_names_its_package(packages: Packages) -> None:
    packages.install("kettle_c", GOOD, "good = kettle_c:KETTLE")
    found = kettles().get("good")
    assert found is not None
    with pytest.raises(ZeroDivisionError) as error:
        found.boil()
    assert package_behind(error.value) == "kettle_c 2.1"
    with pytest.raises(ZeroDivisionError) as error:
        1 / 0  # noqa: B018
    assert package_behind(error.value) is None
