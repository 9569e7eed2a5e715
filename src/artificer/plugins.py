"""Registries of what is built in and of what installed packages add through entry points.

What is built in is listed by name with an import string, and is imported when it is first used.
Entry points are read only for a name that is not built in: that takes longer than most commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from artificer.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def load(target: str) -> Any:
    """Import what ``package.module:name`` names."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def on_call(target: str) -> Any:
    """Return a function that imports the one at ``package.module:name`` when it is called.

    So a registration that declares something does not import what performs it.
    """

    def imported(*args: Any, **kwargs: Any) -> Any:
        return load(target)(*args, **kwargs)

    return imported


class Registry(Generic[T]):
    """Things of one kind by name: those built in, and those of an entry-point group.

    All of them are instances of ``kind``. A built-in name cannot be replaced.
    """

    def __init__(self, group: str, kind: type[T], built_in: Mapping[str, str]) -> None:
        self._group = group
        self._kind = kind
        self._built_in = built_in
        self._loaded: dict[str, T] = {}
        self._installed: dict[str, EntryPoint] | None = None

    def get(self, name: str) -> T | None:
        """Return the thing of that name, or None.

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
        """Whether there is a thing of that name. It is not imported."""
        return name in self._built_in or name in self._others()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the built-in ones first."""
        return (*self._built_in, *self._others())

    def _others(self) -> dict[str, EntryPoint]:
        if self._installed is None:
            from importlib.metadata import entry_points

            found = entry_points(group=self._group)
            self._installed = {e.name: e for e in found if e.name not in self._built_in}
        return self._installed

    def _plugged_in(self, entry: EntryPoint) -> T:
        package = entry.dist.name if entry.dist else "an installed package"
        where = f"The plug-in {entry.name!r} of {package} ({self._group})"
        try:
            found = entry.load()
        except Exception as error:  # a stranger's module may raise anything
            raise ConfigError(
                f"{where} cannot be imported: {type(error).__name__}: {error}",
                hint=f"Update {package}, or uninstall it.",
            ) from error
        if not isinstance(found, self._kind):
            raise ConfigError(
                f"{where} is of type {type(found).__name__}, not {self._kind.__name__}.",
                hint=f"{package} was made for another release of Artificer.",
            )
        return found
