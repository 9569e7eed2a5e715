"""Registries of what is built in and of what installed packages add through entry points.

Built-in things are listed by name with an import string, and are imported when first used. Entry
points are read only for a name that is not built in, because that takes longer than most commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from artificer.errors import ArtificerError, ConfigError, message_of
from artificer.values.release import RELEASE

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_packages: dict[str, str] = {}
"""The installed packages that something was loaded from, by their import names."""


def load(target: str) -> Any:
    """Import the object named ``package.module:name``."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def on_call(target: str) -> Any:
    """Return a function that imports the one at ``package.module:name`` when it is called.

    So a registration does not import the code that it registers.
    """

    def imported(*args: Any, **kwargs: Any) -> Any:
        return load(target)(*args, **kwargs)

    return imported


def package_behind(error: BaseException) -> str | None:
    """Return the installed package whose code raised an error, if it was a plug-in's."""
    found, step = None, error.__traceback__
    while step is not None:
        found = _packages.get(step.tb_frame.f_globals.get("__name__", "").partition(".")[0], found)
        step = step.tb_next
    return found


def package_of(made: object) -> str | None:
    """Return the installed package that a function, or an object's class, is from."""
    return _packages.get(str(getattr(made, "__module__", "")).partition(".")[0])


def lacking(found: object, members: Iterable[str]) -> tuple[str, ...]:
    """Return which of these members an object lacks or has as None."""
    return tuple(name for name in members if getattr(found, name, None) is None)


class PlugIn(NamedTuple):
    """Something that an installed package offers in an entry-point group.

    ``fault`` says why it cannot be used; it is empty for one that can.
    """

    group: str
    name: str
    package: str
    fault: str


class Registry(Generic[T]):
    """Objects of one kind by name: the built-in ones, and those of an entry-point group.

    All of them are instances of ``kind``, which ``called`` names in errors. A built-in name cannot
    be replaced.
    """

    def __init__(
        self, group: str, kind: type[T], built_in: Mapping[str, str], called: str = ""
    ) -> None:
        self.group = group
        """The group of the entry points that add to it."""
        self._kind = kind
        self._called = called or kind.__name__
        self._built_in = built_in
        self._loaded: dict[str, T] = {}
        self._places: dict[str, str] = {}
        self._installed: dict[str, list[EntryPoint]] | None = None

    def get(self, name: str) -> T | None:
        """Return the object of that name, or None.

        Raises:
            ConfigError: an installed package offers it, and it cannot be used.
        """
        if name not in self._loaded:
            if name in self._built_in:
                self._loaded[name] = load(self._built_in[name])
            elif name in self._others():
                self._loaded[name] = self._plugged_in(self._others()[name])
            else:
                return None
        return self._loaded[name]

    def __contains__(self, name: str) -> bool:
        """Whether there is an object of that name. It is not imported."""
        return name in self._built_in or name in self._others()

    def is_plug_in(self, name: str) -> bool:
        """Whether an installed package offers the object of that name."""
        return name not in self._built_in and name in self._others()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the built-in ones first."""
        return (*self._built_in, *self._others())

    def fault_of(self, name: str, what: str) -> ConfigError:
        """Return the error for an object of that name that breaks its protocol by ``what``."""
        where = self._places.get(name, f"The {self._called} {name!r}")
        return ConfigError(
            f"{where} {what}",
            hint="This is a bug in the package: report it to its authors; update or uninstall it.",
        )

    @contextmanager
    def errors_of(self, name: str, when: str) -> Iterator[None]:
        """Run code of the package that offers the object of that name.

        Raises:
            ConfigError: it raised something that no package should, ``when``.
        """
        try:
            yield
        except ArtificerError:
            raise
        except (Exception, SystemExit) as error:
            if name in self._built_in:
                raise
            what = f"raised {type(error).__name__} when {when}."  # its words may hold a secret
            raise self.fault_of(name, what) from error

    def made_by(self, name: str, made: object, called: str, members: Iterable[str]) -> None:
        """Check something that the object of that name made, before it is used.

        Raises:
            ConfigError: it is no ``called``: it lacks one of the ``members``.
        """
        missing = lacking(made, members)
        if missing:
            what = f"opened an object of type {type(made).__name__}, not a {called}"
            raise self.fault_of(name, f"{what}: it has no {', '.join(missing)}.")

    def plug_ins(self) -> Iterator[PlugIn]:
        """Yield everything that installed packages offer, usable or not. Imports all of it."""
        from importlib.metadata import entry_points

        for entry in sorted(entry_points(group=self.group)):
            fault = ""
            if entry.name in self._built_in:
                fault = f"{entry.name!r} is built in and cannot be replaced by {_package(entry)}."
            else:
                try:
                    self.get(entry.name)
                except ConfigError as error:
                    fault = error.message
            yield PlugIn(self.group, entry.name, _package(entry), fault)

    def _others(self) -> dict[str, list[EntryPoint]]:
        if self._installed is None:
            from importlib.metadata import entry_points

            self._installed = {}
            for entry in entry_points(group=self.group):
                if entry.name not in self._built_in:
                    self._installed.setdefault(entry.name, []).append(entry)
        return self._installed

    def _plugged_in(self, entries: Sequence[EntryPoint]) -> T:
        entry, package = entries[0], _package(entries[0])
        if len(entries) > 1:
            packages = " and ".join(sorted(map(_package, entries)))
            raise ConfigError(
                f"The plug-in {entry.name!r} ({self.group}) is offered by {packages}.",
                hint="Uninstall all but one of them.",
            )
        where = f"The plug-in {entry.name!r} of {package} ({self.group})"
        try:
            found = entry.load()
            kind, fits = type(found), isinstance(found, self._kind)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a stranger's module may raise anything
            raise ConfigError(
                f"{where} cannot be imported: {described(error)}",
                hint=_required(entry) or f"Update {package}, or uninstall it.",
            ) from error
        if issubclass(kind, type):
            raise ConfigError(
                f"{where} is the class {found.__name__}, not an object.",
                hint=f"{entry.value} must name an instance of a {self._called}.",
            )
        if not fits:
            raise ConfigError(
                f"{where} is of type {kind.__name__}, not {self._called}.",
                hint=f"{entry.value} must name a {self._called}; or {package} was made for another "
                "release of Artificer.",
            )
        _packages[entry.module.partition(".")[0]] = package
        self._places[entry.name] = where
        plugged_in: T = found
        return plugged_in


def _package(entry: EntryPoint) -> str:
    """Return a package's name and version, as far as it states them."""
    stated = (entry.dist.name, entry.dist.version) if entry.dist else ()
    return " ".join(filter(None, stated)) or "a package without a name"


def described(error: BaseException) -> str:
    """Return what an error of a stranger says, in one line's length."""
    return f"{type(error).__name__}: {message_of(error):.500}"


def _required(entry: EntryPoint) -> str:
    """The release of Artificer that a plug-in's package was made for, if it states one."""
    from re import fullmatch

    for requirement in (entry.dist.requires or ()) if entry.dist else ():
        found = fullmatch(r"artificer(?:\[[^]]*\])?\s*\(?([<>=!~][^;)]*)\)?.*", requirement)
        if found:
            return f"It is made for artificer {found[1].strip()}; this is {RELEASE}."
    return ""
