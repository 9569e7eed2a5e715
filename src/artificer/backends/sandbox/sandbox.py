"""Which sandbox holds the programs of manifests, and what each of them may reach."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from artificer.backends.process.confinement import UNCONFINED, Confinement
from artificer.backends.sandbox.bubblewrap import NAME as BUBBLEWRAP
from artificer.backends.sandbox.bubblewrap import Bubblewrap, find_bubblewrap
from artificer.backends.sandbox.finding import SandboxFinding
from artificer.backends.sandbox.grants import Grants, SandboxMode
from artificer.backends.sandbox.landlock import Landlock, find_landlock
from artificer.backends.sandbox.rules import Rules, paths, system_folders, within
from artificer.backends.sandbox.toolchains import toolchain_folders, toolchain_variables
from artificer.errors import ConfigError
from artificer.manifests.keys import SandboxKeys, ToolKeys
from artificer.system.home import user_home


def findings() -> tuple[SandboxFinding, ...]:
    """Every sandbox there is, the preferred one first."""
    return (find_bubblewrap(), find_landlock())


def choose(
    mode: SandboxMode, network: bool, found: Iterable[SandboxFinding]
) -> SandboxFinding | None:
    """The sandbox that is used; None when there is none, and when none is wanted.

    One that cannot hold the network is good enough only where none is required to.
    """
    if mode == "off":
        return None
    for finding in found:
        if finding.works and (network or finding.holds_network or mode == "auto"):
            return finding
    return None


class Sandbox:
    """Confines the programs that run in ``root``; its folder for temporary files goes with it."""

    def __init__(
        self, grants: Grants, root: Path, sandboxes: Sequence[SandboxFinding] | None = None
    ) -> None:
        """``sandboxes`` are those to choose from (default: what is found on this machine)."""
        self._grants = grants
        self._sandboxes = sandboxes
        self._root = root
        self._writable = paths(grants.writable, root)
        self._readable = (
            *system_folders(network=grants.network),
            *paths(grants.readable, root),
            root,
        )
        self._scratch: Path | None = None

    def check(self, tool: ToolKeys) -> None:
        """Raise ConfigError for a tool that must not be run as things are."""
        keys = tool.sandbox
        mode = self._mode(keys)
        if mode == "off":
            return
        try:
            self._writable_of(tool)
        except PermissionError as error:
            raise ConfigError(
                f"The tool {tool.name!r} wants to write in {error.filename}: {error.strerror}.",
                hint="Name the folder in [sandbox] writable of artificer.toml.",
            ) from error
        if mode == "required" and self._choice(keys) is None:
            reasons = "; ".join(f"{f.name}: {f.detail}" for f in self._found())
            who = f"The tool {tool.name!r}" if keys.required else "[sandbox] of artificer.toml"
            raise ConfigError(
                f"{who} requires a sandbox, and none works here ({reasons}).",
                hint="Install bubblewrap, or the extra 'sandbox'; `artificer doctor` shows more.",
            )

    def confine(
        self,
        tool: ToolKeys,
        program: str,
        env: Mapping[str, str],
        *,
        cwd: Path | None = None,
        manifest: Path | None = None,
        writable: Iterable[Path] = (),
    ) -> Confinement:
        """Return the confinement of a call. ``manifest`` is its file, ``writable`` its own folder.

        It begins in ``cwd``, a folder in the root (default: the root).

        Raises OSError when there is no such program, which a sandbox would say in words that are
        not ours, and when it may not write where it says it must.
        """
        choice = self._choice(tool.sandbox)
        if choice is None:
            return UNCONFINED
        found = self._find(program, env)
        beside, kept = _beside(manifest, self._root)
        rules = Rules(
            readable=(*self._readable, *beside, found, found.resolve(), *_toolchain(found)),
            writable=(*self._writable_of(tool), *writable),
            scratch=self._scratch_folder(),
            cwd=cwd or self._root,
            network=self._network(tool.sandbox),
            kept=(*paths(self._grants.kept, self._root), *kept),
        )
        return Bubblewrap(rules) if choice.name == BUBBLEWRAP else Landlock(rules)

    def variables(self, tool: ToolKeys, program: str, env: Mapping[str, str]) -> dict[str, str]:
        """Return where a program's toolchain is: its own home is another one in a sandbox.

        Raises OSError when there is no such program.
        """
        if self._choice(tool.sandbox) is None:
            return {}
        return toolchain_variables(_toolchain(self._find(program, env)), user_home())

    def _mode(self, keys: SandboxKeys) -> SandboxMode:
        return "required" if keys.required else self._grants.mode

    def _network(self, keys: SandboxKeys) -> bool:
        return self._grants.network and keys.network

    def _choice(self, keys: SandboxKeys) -> SandboxFinding | None:
        mode = self._mode(keys)
        return choose(mode, self._network(keys), self._found()) if mode != "off" else None

    def _found(self) -> Sequence[SandboxFinding]:
        return findings() if self._sandboxes is None else self._sandboxes

    def _writable_of(self, tool: ToolKeys) -> tuple[Path, ...]:
        """Where a tool may write: everything that is granted, or what it says it needs of that.

        Looked at for each call, because what stands under a name may have changed.
        """
        if tool.sandbox.writable is None:
            return self._writable
        wanted = paths(tool.sandbox.writable, self._root)
        for path in wanted:
            if not within(path, self._writable):
                raise PermissionError(errno.EACCES, "that is not granted to it", str(path))
        return wanted

    def _find(self, program: str, env: Mapping[str, str]) -> Path:
        if "/" in program:
            path: str | None = str(self._root / program)
            path = path if os.access(str(path), os.X_OK) else None
        else:
            path = shutil.which(program, path=env.get("PATH", os.defpath))
        if path is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
        return Path(os.path.normpath(self._root / path))

    def _scratch_folder(self) -> Path:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="artificer-"))
            weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        return self._scratch


def _toolchain(program: Path) -> list[Path]:
    """The folders in the user's home that a program of theirs starts from."""
    folders = toolchain_folders((program, program.resolve()), user_home())
    return [folder for folder in folders if folder.is_dir()]


def _beside(manifest: Path | None, root: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Where a manifest's own programs are found, and what of it nobody may write.

    That is the folder, so that nothing is created next to it; unless it is the programs' working
    folder.
    """
    if manifest is None:
        return (), ()
    folders = paths([manifest.absolute().parent], root)
    kept = [f / manifest.name if root.is_relative_to(f) else f for f in folders]
    return folders, tuple(kept)
