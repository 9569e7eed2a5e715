"""Promises of the blob store on disk beyond the port: files, crashes, damage."""

import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import preloaded
from artificer.errors import ConfigError, NotFoundError, OperatorError, TamperedError
from artificer.storage.blobs import DiskStore
from artificer.storage.blobs.disk import STALE_SECONDS

DATA = b"some bytes\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "world" / "blobs"


def file_of(root: Path, digest: str) -> Path:
    name = digest.removeprefix("sha256:")
    return root / "sha256" / name[:2] / name[2:]


@pytest.mark.req("blob-layout")
class TestLayout:
    def test_a_blob_is_a_file_named_by_its_digest(self, root: Path) -> None:
        digest = DiskStore(root).put(DATA)
        assert file_of(root, digest).read_bytes() == DATA
        files = [file for file in root.rglob("*") if file.is_file()]
        assert files == [file_of(root, digest)]

    def test_only_the_owner_can_write(self, root: Path) -> None:
        digest = DiskStore(root).put(DATA)
        file = file_of(root, digest)
        assert stat.S_IMODE(file.stat().st_mode) & 0o133 == 0
        assert stat.S_IMODE(file.parent.stat().st_mode) & 0o022 == 0

    def test_another_store_on_the_same_directory_sees_it(self, root: Path) -> None:
        first, second = DiskStore(root), DiskStore(root, "process")
        digest = first.put(DATA)
        assert second.get(digest) == DATA
        assert second.put(DATA) == digest
        assert list(second.digests()) == [digest]

    def test_foreign_files_are_passed_over(self, root: Path) -> None:
        store = DiskStore(root)
        digest = store.put(DATA)
        (root / "sha256" / "README").write_text("hello")
        (root / "sha256" / "zz").mkdir()
        (file_of(root, digest).parent / "notes.txt").write_text("hello")
        assert list(store.digests()) == [digest]

    def test_a_root_that_is_a_file(self, root: Path) -> None:
        root.parent.mkdir(parents=True)
        root.write_text("file")
        with pytest.raises(ConfigError):
            DiskStore(root)


@pytest.mark.req("blob-put-once")
class TestPut:
    @pytest.mark.parametrize("same_store", [True, False])
    def test_an_existing_blob_is_not_written_again(self, root: Path, same_store: bool) -> None:
        store = DiskStore(root)
        file = file_of(root, store.put(DATA))
        before = file.stat()
        (store if same_store else DiskStore(root)).put(DATA)
        after = file.stat()
        assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
        assert after.st_mtime_ns >= before.st_mtime_ns, "it is wanted now: no collection takes it"

    @pytest.mark.parametrize("damaged", [b"", DATA[:5], DATA[:-1] + b"!"])
    def test_a_damaged_file_is_replaced(self, root: Path, damaged: bytes) -> None:
        digest = DiskStore(root).put(DATA)
        file_of(root, digest).write_bytes(damaged)
        store = DiskStore(root)
        assert store.put(DATA) == digest
        assert store.get(digest) == DATA

    def test_what_was_damaged_or_deleted_meanwhile_is_put_back(self, root: Path) -> None:
        store = DiskStore(root)
        digest = store.put(DATA)
        file_of(root, digest).write_bytes(b"other")
        with pytest.raises(TamperedError):
            store.get(digest)
        store.put(DATA)
        assert store.get(digest) == DATA
        file_of(root, digest).unlink()
        store.put(DATA)
        assert store.get(digest) == DATA

    def test_threads_that_put_the_same(self, root: Path) -> None:
        stores = [DiskStore(root) for _ in range(4)]
        blobs = [b"%d" % (n % 10) for n in range(200)]
        with ThreadPoolExecutor(4) as threads:
            digests = list(threads.map(lambda n: stores[n % 4].put(blobs[n]), range(200)))
        assert sorted(stores[0].digests()) == sorted(set(digests))
        assert all(stores[0].get(d) == b for d, b in zip(digests, blobs, strict=True))

    def test_a_failing_disk_leaves_nothing(self, root: Path) -> None:
        """A directory stands where the blob should be: the rename cannot be done."""
        digest = DiskStore(root).put(DATA)
        file_of(root, digest).unlink()
        file_of(root, digest).mkdir()
        store = DiskStore(root)
        with pytest.raises(OperatorError):
            store.put(DATA)
        assert list((root / "tmp").iterdir()) == []
        with pytest.raises(OperatorError):
            store.get(digest)
        file_of(root, digest).rmdir()
        assert store.put(DATA) == digest
        assert store.get(digest) == DATA


@pytest.mark.req("blob-verified")
class TestRead:
    @settings(
        max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        data=st.binary(min_size=1, max_size=300), at=st.integers(0, 299), flip=st.integers(1, 255)
    )
    def test_any_flipped_byte_is_found(self, root: Path, data: bytes, at: int, flip: int) -> None:
        store = DiskStore(root, "process")
        digest = store.put(data)
        at %= len(data)
        changed = data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
        file_of(root, digest).write_bytes(changed)
        with pytest.raises(TamperedError):
            store.get(digest)
        assert store.has(digest)

    @pytest.mark.parametrize("change", [b"", DATA[:-1], DATA + b"\0"])
    def test_another_length_is_found(self, root: Path, change: bytes) -> None:
        store = DiskStore(root)
        digest = store.put(DATA)
        file_of(root, digest).write_bytes(change)
        with pytest.raises(TamperedError):
            store.get(digest)

    def test_no_digest_leads_out_of_the_store(self, root: Path) -> None:
        store = DiskStore(root)
        (root / "sha256" / "secret").write_text("secret")
        for text in ("sha256:secret", "sha256:../sha256/secret", f"sha256:{'.' * 64}"):
            assert not store.has(text)
            with pytest.raises(NotFoundError):
                store.get(text)


@pytest.mark.req("blob-crash")
class TestCrashes:
    @pytest.mark.parametrize("durability", ["power", "process"])
    def test_killed_writer_leaves_whole_blobs_only(self, root: Path, durability: str) -> None:
        command = [sys.executable, str(Path(__file__).parent / "putter.py"), str(root), durability]
        child = preloaded.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout
        told = [child.stdout.readline().strip() for _ in range(50)]
        child.kill()
        rest = child.communicate()[0].split("\n")
        store = DiskStore(root)
        stored = set(store.digests())
        assert stored >= set(told) | set(rest[:-1])
        for digest in stored:
            store.get(digest)

    def test_old_leftovers_are_swept_and_young_ones_are_left_alone(self, root: Path) -> None:
        DiskStore(root)
        names = ("tmpa1b2c3d4", "tmpe5f6g7h8", "notes.txt")
        young, old, foreign = (root / "tmp" / name for name in names)
        for file in (young, old, foreign):
            file.write_bytes(b"half a bl")
        long_ago = time.time() - STALE_SECONDS - 60
        for file in (old, foreign):
            os.utime(file, (long_ago, long_ago))
        store = DiskStore(root)
        assert young.exists()
        assert foreign.exists(), "not one of ours"
        assert not old.exists()
        assert list(store.digests()) == []
