"""Files that a person named are there whole, or as they were."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import preloaded
from artificer.render.export.exported import Files
from artificer.report import write_files
from artificer.system.whole_file import write_whole

pytestmark = pytest.mark.req("files-whole")

BIG = bytes(100_000)


@contextmanager
def small_disk() -> Iterator[None]:
    """Let this process write no file of more than 50,000 bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_that_does_not_fit_leaves_the_one_before(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write_whole(old, b"good")
    for path in (old, new):
        with small_disk(), pytest.raises(OSError, match="too large") as caught:
            write_whole(path, BIG)
        assert caught.value.filename == str(path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"old": b"good"}


def test_the_files_of_a_report_do_too(tmp_path: Path) -> None:
    files: Files = {"report.html": b"good", "artifacts/c.svg": b"good"}
    paths = write_files(tmp_path, files)
    with small_disk(), pytest.raises(OSError, match="too large"):
        write_files(tmp_path, dict.fromkeys(files, BIG))
    assert [path.read_bytes() for path in paths] == [b"good", b"good"]


def test_a_file_keeps_its_mode_and_a_new_one_has_that_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", b"1")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new") == 0o640
    for kept in (0o600, 0o755, 0o664):
        (tmp_path / "new").chmod(kept)
        write_whole(tmp_path / "new", b"2")
        assert (mode(tmp_path / "new"), (tmp_path / "new").read_bytes()) == (kept, b"2")


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name in ("one", "missing"):
        (tmp_path / name).symlink_to(f"there/{name}")
    (tmp_path / "there" / "one").write_bytes(b"old")
    for name in ("one", "missing"):
        write_whole(tmp_path / name, b"new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "there" / name).read_bytes() == b"new"


def test_all_names_of_a_file_stay_names_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "b").read_bytes() == b"new"


def test_pipes_and_devices_are_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_whole(tmp_path / "pipe", b"data")
    reader.join()
    assert read == [b"data"]
    write_whole(Path(os.devnull), b"data")
    assert not Path(os.devnull).is_file()
    script = (
        "import sys, pathlib; from artificer.system.whole_file import write_whole; "
        "write_whole(pathlib.Path('/dev/stdout'), b'data')"
    )
    assert preloaded.run(["-c", script], capture_output=True, check=True).stdout == b"data"


def test_folders_and_missing_ones_are_named_in_the_error(tmp_path: Path) -> None:
    for path, kind in ((tmp_path, IsADirectoryError), (tmp_path / "a" / "b", FileNotFoundError)):
        with pytest.raises(kind) as caught:
            write_whole(path, b"")
        assert caught.value.filename == str(path)


AS_SOMEBODY_ELSE = """
import os, pathlib
from artificer.system.whole_file import write_whole
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
write_whole(pathlib.Path("anybodys"), b"new")
for name in ("read-only", "none"):
    try:
        write_whole(pathlib.Path(name), b"new")
    except PermissionError as error:
        print(error.filename)
"""


@pytest.fixture
def not_ours() -> Iterator[Path]:
    """A folder that every user can enter, and in which only root can make files."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    (folder / "anybodys").write_bytes(b"old")
    (folder / "anybodys").chmod(0o666)
    (folder / "read-only").write_bytes(b"old")
    (folder / "read-only").chmod(0o444)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


def test_where_no_file_can_be_made_one_can_still_be_written(not_ours: Path) -> None:
    done = preloaded.run(["-c", AS_SOMEBODY_ELSE], cwd=not_ours, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines() == ["read-only", "none"]
    left = {path.name: path.read_bytes() for path in not_ours.iterdir()}
    assert left == {"anybodys": b"new", "read-only": b"old"}
    assert (not_ours / "anybodys").stat().st_uid == os.geteuid()
