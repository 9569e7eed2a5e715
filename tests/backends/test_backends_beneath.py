"""Paths that are held beneath a folder: by the kernel in one step, or link by link without it."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.process.beneath import LookUp, by_kernel, by_links
from artificer.manifests.model import ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call

pytestmark = pytest.mark.req("paths-beneath")


@pytest.fixture(params=["kernel", "links"])
def look_up(request: pytest.FixtureRequest) -> LookUp:
    """Each way to look a path up."""
    found = by_kernel() if request.param == "kernel" else by_links
    if found is None:
        pytest.skip("openat2 needs Linux 5.6, and a container that allows it")
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file, and another beside it that is not its own."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "file").write_text("inside")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "file").write_text("outside")
    return root


def leads_to(look_up: LookUp, root: Path, path: str) -> Path:
    """Where a path leads."""
    descriptor = look_up(root, path, os.O_PATH | os.O_CLOEXEC)
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("path", ["sub/file", "sub/../sub/file", "./sub/file", "link/file", "sub"])
def test_what_stays_within_is_found(look_up: LookUp, root: Path, path: str) -> None:
    (root / "link").symlink_to("sub")
    assert leads_to(look_up, root, path).is_relative_to(root / "sub")


@pytest.mark.parametrize(
    "path",
    ["../beside/file", "sub/../../beside/file", "/etc/hostname", "out", "out/file", "up/beside",
     "chain", "magic/root/etc/hostname", "dangling"],
)  # fmt: skip
def test_what_leads_out_is_refused(look_up: LookUp, root: Path, path: str) -> None:
    (root / "out").symlink_to(root.parent / "beside")
    (root / "up").symlink_to("../")
    (root / "chain").symlink_to("sub/next")
    (root / "sub" / "next").symlink_to("../../beside/file")
    (root / "magic").symlink_to("/proc/self")
    (root / "dangling").symlink_to("../nowhere")
    with pytest.raises(OSError) as caught:
        leads_to(look_up, root, path)
    assert caught.value.errno == errno.EXDEV


def test_a_loop_of_links_is_an_error(look_up: LookUp, root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises((OSError, RuntimeError)):
        leads_to(look_up, root, "a/x")


@contextmanager
def swapping(root: Path) -> Iterator[None]:
    """Let ``way`` be a link within and a link out, by turns, as fast as it goes."""
    targets = ["sub", str(root.parent / "beside"), "../beside", "sub"]
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for target in targets:
                (root / "next").symlink_to(target)
                (root / "next").replace(root / "way")

    (root / "way").symlink_to("sub")
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        yield
    finally:
        over.set()
        swapper.join()


def test_a_link_that_is_swapped_meanwhile_deceives_nobody(root: Path) -> None:
    look_up = by_kernel()
    if look_up is None:
        pytest.skip("openat2 needs Linux 5.6, and a container that allows it")
    found, refused = 0, 0
    with swapping(root):
        while found < 300 or refused < 300:
            try:
                assert leads_to(look_up, root, "way/file") == root / "sub" / "file"
                found += 1
            except OSError as error:
                assert error.errno == errno.EXDEV
                refused += 1


async def test_a_link_that_is_swapped_in_after_the_tool_was_made_is_seen(root: Path) -> None:
    manifest = parse_manifest(
        '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n[args.x]\ntype = "path"\n'
        'required = true\n[command]\nexec = ["cat", "{x}"]',
        "t.clad.toml",
    )
    executor = CommandExecutor([ManifestFile(manifest, "t")], cwd=root)
    call = Call("r", "c", executor.tools[0], {"x": "sub/file"}, "k")
    assert "inside" in (await executor.execute(call)).content
    (root / "sub").rename(root / "was")
    (root / "sub").symlink_to("../beside")
    receipt = await executor.execute(call)
    assert receipt.status == "invalid"
    assert "outside" not in receipt.content
