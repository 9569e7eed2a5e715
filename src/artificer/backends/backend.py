"""A backend as it is registered: what its manifests declare, and what performs their calls.

Those built in are listed in ``manifests/registry.py``; an installed package adds one through the
entry-point group ``artificer.backends``, under the name of its section. ``examples/plugin`` is a
package that does so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from artificer.backends.context import ExecutorContext
from artificer.errors import ConfigError
from artificer.manifests.model import ManifestFile
from artificer.manifests.registry import BACKENDS, RegisteredBackend
from artificer.ports import Executor

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, kw_only=True)
class Backend(RegisteredBackend):
    """A backend for manifests.

    ``executors`` makes what performs the calls of its files, all of one folder. ``settings`` is
    the model of its table ``[backends.NAME]`` of ``artificer.toml``, if it has one.
    """

    executors: Callable[[Sequence[ManifestFile[Any]], ExecutorContext], Iterable[Executor]]
    settings: type[BaseModel] | None = None


def backend_of(name: str) -> Backend:
    """Return the backend of that name. Raises ConfigError if nothing performs its calls."""
    found = BACKENDS.get(name)
    if not isinstance(found, Backend):
        raise ConfigError(
            f"No installed backend executes [{name}].",
            hint="Install the package that adds this section, in a release made for this one.",
        )
    return found
