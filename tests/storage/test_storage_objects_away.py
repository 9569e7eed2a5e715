"""An object store that is away, and comes back before patience is over."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial
from itertools import count
from urllib.parse import urlsplit

import pytest
from object_server import ObjectServer
from tcp_line import TcpLine, tcp_line

from artificer.storage.blobs.objects import ObjectStore
from artificer.values.canon import digest_of

pytestmark = [pytest.mark.xdist_group("servers"), pytest.mark.req("storage-objects-away")]

numbers = count()
TRIES = 3


@pytest.fixture(scope="module")
def line(object_server: ObjectServer) -> Iterator[TcpLine]:
    store = urlsplit(object_server.endpoint)
    assert store.port is not None
    with tcp_line(partial(socket.create_connection, (store.hostname, store.port))) as line:
        yield line


@pytest.fixture
def store(line: TcpLine, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{line.place}")
    return ObjectStore(f"s3://worlds/away_{next(numbers)}")


def test_each_request_waits_until_the_store_is_back(line: TcpLine, store: ObjectStore) -> None:
    line.cut(TRIES)
    digest = store.put(b"kept")
    assert line.refused == 0, "it was tried again"
    line.cut(TRIES)
    assert store.get(digest) == b"kept"
    line.cut(TRIES)
    assert store.has(digest) and not store.has(digest_of(b"another"))
    assert line.refused == 0
    assert list(store.digests()) == [digest]


def test_a_blob_whose_answer_is_lost_is_there_once(line: TcpLine, store: ObjectStore) -> None:
    line.lose_answers(1)
    digest = store.put(b"unheard")
    assert line.unheard == 0
    assert list(store.digests()) == [digest]
    line.lose_answers(1)
    assert store.put(b"unheard") == digest
    line.lose_answers(1)
    assert store.get(digest) == b"unheard"
