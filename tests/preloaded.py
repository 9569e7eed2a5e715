"""Starting Python processes that have imported Artificer already.

Most of what a short process costs is its imports. A server, one for each process that runs tests,
imports once; each process that a test starts is a fork of it: a process with its own number,
streams, session and exit code, and a child of the tests, so that everything that holds for
``subprocess`` holds for it. A test of what importing costs or does starts an interpreter instead.

    process = preloaded.Popen([sys.executable, "-m", "artificer", "runs"], stdout=PIPE)
    process = await preloaded.start("-m", "artificer", "runs", stdout=PIPE)

A process whose environment changes how an interpreter starts is a new interpreter, as is every
process on a system without ``clone``.

The workers of pytest-xdist are forks as well (forked_workers.py). Each has a server from its start,
a fork of the same process, so that everything is imported once for all workers.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import gc
import importlib.abc
import importlib.machinery
import inspect
import io
import json
import os
import pkgutil
import platform
import re
import runpy
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import artificer

CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
CLONE_PARENT = 0x8000
LIBRARIES = ("httpcore2", "httpx2", "mcp_types", "openai", "rich.console", "starlette", "uvicorn")
"""Other slow imports that do not load OpenTelemetry, which would turn telemetry on."""

ASIDE = ("opentelemetry", "anthropic", "mcp")
"""Imported in advance, but there only when a process imports it. The others load the first."""

STARTUP = ("PYTHON", "LC_", "LANG", "LD_", "COVERAGE_")
"""Beginnings of the variables that an interpreter reads when it starts."""

READ_HERE = {"PYTHONPATH", "PYTHONWARNINGS", "PYTHONDONTWRITEBYTECODE", "PYTHON"}
"""Those that a fork reads, too, and one that only scripts read. A warning of an import has passed
by then."""

LENGTH = struct.Struct("!Q")
HIGHEST = 1 << 10
"""Above every descriptor of a process that has just begun."""

HUGE = 2 << 20
MADV_COLLAPSE = 25
ANONYMOUS = re.compile(r"(\w+)-(\w+) rw.p \w+ 00:00 0\s*(\[heap\])?$")
"""Memory that no file backs: arenas of Python's and of the C library's, not the stack."""


USUAL = subprocess.Popen


class Popen(subprocess.Popen[Any]):
    """``subprocess.Popen`` of ``[sys.executable, ...]``: a fork of the server where it can be."""

    def _execute_child(self, *values: Any) -> None:
        original = super()._execute_child  # type: ignore[misc]
        options = inspect.signature(original).bind(*values).arguments
        argv = [os.fsdecode(word) for word in options["args"]]
        environment = dict(os.environ if options["env"] is None else options["env"])
        if not _can_fork(argv, environment, options):
            original(*values)
            return
        inherited = (("p2cread", 0), ("c2pwrite", 1), ("errwrite", 2))
        streams = [options[name] if options[name] != -1 else usual for name, usual in inherited]
        request = {
            "argv": argv[1:],
            "cwd": str(options["cwd"] or Path.cwd()),
            "env": environment,
            "session": bool(options["start_new_session"]),
        }
        with _turn:
            self.pid = _server().fork(request, streams)
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(options[name] for name in pipes))  # type: ignore[attr-defined]


@contextlib.contextmanager
def started_here() -> Iterator[None]:
    """While this holds, an interpreter that a library starts is a fork of the server, too."""
    subprocess.Popen = Popen  # type: ignore[misc]
    try:
        yield
    finally:
        subprocess.Popen = USUAL  # type: ignore[misc]


async def start(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
    """Start an interpreter with these arguments, as ``asyncio.create_subprocess_exec`` does."""
    with started_here():
        return await asyncio.create_subprocess_exec(sys.executable, *arguments, **options)


def run(arguments: list[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run an interpreter with these arguments to its end, as ``subprocess.run`` does."""
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    text, check = options.pop("input", None), options.pop("check", False)
    if text is not None:
        options["stdin"] = subprocess.PIPE
    with Popen([sys.executable, *arguments], **options) as process:
        try:
            out, err = process.communicate(text)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def _can_fork(argv: list[str], environment: dict[str, str], options: dict[str, Any]) -> bool:
    special = any(options[name] for name in ("preexec_fn", "pass_fds", "shell"))
    form = argv[1:2] and (argv[1] in ("-m", "-c") or not argv[1].startswith("-"))
    ours = CLONE is not None and argv[0] == sys.executable and bool(form)
    changed = dict(environment.items() - os.environ.items())
    return (
        ours
        and not special
        and not any(name.startswith(STARTUP) for name in changed.keys() - READ_HERE)
    )


# ── the server ────────────────────────────────────────────────────────────────────────────────────


class _Server:
    """The process that has imported everything, and the connection to it."""

    def __init__(self, connection: socket.socket, wait: Callable[[], object]) -> None:
        self._socket, self._wait = connection, wait
        atexit.register(self.close)

    @classmethod
    def started(cls) -> _Server:
        """Start one, which imports everything."""
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        return cls(ours, process.wait)

    @classmethod
    def forked(cls) -> _Server:
        """Make one of a process that has imported everything; each new process leaves here."""
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid:
            theirs.close()
            return cls(ours, partial(os.waitpid, pid, 0))
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(2, 1)
        os.closerange(3, theirs.fileno())
        os.closerange(theirs.fileno() + 1, HIGHEST)
        if request := _serve(theirs):
            perform(request)
        os._exit(0)

    def fork(self, request: dict[str, Any], streams: list[int]) -> int:
        """Return the number of the new process."""
        body = json.dumps(request).encode()
        socket.send_fds(self._socket, [LENGTH.pack(len(body))], streams)
        self._socket.sendall(body)
        return LENGTH.unpack(exactly(self._socket, LENGTH.size))[0]

    def close(self) -> None:
        self._socket.close()
        self._wait()


servers: dict[int, _Server] = {}
_turn = threading.Lock()
"""Threads ask the server one after another."""


def _server() -> _Server:
    if os.getpid() not in servers:
        servers[os.getpid()] = _Server.started()
    return servers[os.getpid()]


def exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (more := connection.recv(size - len(found))):
        found += more
    return found


def requests(connection: socket.socket) -> Iterator[tuple[dict[str, Any], list[int]]]:
    while True:
        head, streams, _, _ = socket.recv_fds(connection, LENGTH.size, 3)
        if not head:
            return
        head += exactly(connection, LENGTH.size - len(head))
        yield json.loads(exactly(connection, LENGTH.unpack(head)[0])), streams


def _fork() -> int:
    """``os.fork``, but the new process is a child of the server's parent."""
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = int(ctypes.PyDLL(None).syscall(CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    return pid


def preload() -> None:
    gc.disable()  # nothing that is imported becomes garbage
    ours = (module.name for module in pkgutil.walk_packages(artificer.__path__, "artificer."))
    for name in (*ours, *LIBRARIES):
        if not re.search(r"\.(testing|telemetry)\b|__main__$", name):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    for name in ASIDE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.meta_path[:0] = [_Aside(name) for name in ASIDE if name in sys.modules]
    assert "opentelemetry" not in sys.modules
    gc.collect()
    gc.freeze()
    gc.enable()
    _collapse()


def _collapse() -> None:
    """Have what was imported lie in huge pages, where this kernel can: a fork copies a page table
    512 times as short, and takes a third of the time.
    """
    with contextlib.suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            if found := ANONYMOUS.match(line):
                first, end = (int(found[number], 16) for number in (1, 2))
                first, end = -(-first // HUGE) * HUGE, end // HUGE * HUGE
                if first < end:
                    advise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), MADV_COLLAPSE)


class _Aside(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A package that was imported and taken away again, until somebody imports it."""

    def __init__(self, name: str) -> None:
        parts = [each for each in sys.modules if each == name or each.startswith(f"{name}.")]
        self._modules = {each: sys.modules.pop(each) for each in parts}
        self._name, self._spec, self._waits = name, self._modules[name].__spec__, True

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        found = self._waits and fullname == self._name
        return importlib.machinery.ModuleSpec(fullname, self) if found else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        """Bring back the whole package, and what it loads."""
        module.__spec__, self._waits = self._spec, False
        importlib.import_module(ASIDE[0])
        sys.modules.update(self._modules)


def _serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork once for each request. Returns the request in the new process, None at the end."""
    for request, streams in requests(connection):
        pid = _fork()
        if pid == 0:
            connection.close()
            _become(request, streams)
            return request
        for stream in streams:
            os.close(stream)
        connection.sendall(LENGTH.pack(pid))
    return None


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Take on streams, folder and environment."""
    if request["session"]:
        os.setsid()
    high = [os.dup(stream) for stream in streams]
    for number, stream in enumerate(high):
        os.dup2(stream, number)
    os.closerange(3, max(*streams, *high) + 1)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    error = io.TextIOWrapper(
        open(2, "wb", buffering=0, closefd=False),  # noqa: SIM115
        encoding="utf-8",
        errors="backslashreplace",
        write_through=True,
    )
    sys.stderr = sys.__stderr__ = error  # type: ignore[misc]


def _interpret(argv: list[str]) -> None:
    """Do as an interpreter with these arguments does."""
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    if filters := os.environ.get("PYTHONWARNINGS"):
        sys.warnoptions[:] = filters.split(",")
        warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]
    if more := os.environ.get("PYTHONPATH"):
        sys.path[1:1] = more.split(os.pathsep)
        with contextlib.suppress(ImportError):
            importlib.import_module("sitecustomize")
    if argv[0] == "-m":
        sys.argv = argv[1:]
        sys.path[0] = str(Path.cwd())
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    elif argv[0] == "-c":
        sys.argv = ["-c", *argv[2:]]
        sys.path[0] = ""
        main = type(sys)("__main__")
        sys.modules["__main__"] = main
        exec(compile(argv[1], "<string>", "exec"), main.__dict__)
    else:
        sys.argv = argv
        sys.path[0] = str(Path(argv[0]).resolve().parent)
        runpy.run_path(argv[0], run_name="__main__")


def _end(code: int) -> NoReturn:
    """End as an interpreter does, without taking apart all that was imported."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = code or 120
    os._exit(code)


def _code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return (end.code or 0) & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1


def become_worker(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be an interpreter with a server of its own."""
    _become(request, streams)
    servers[os.getpid()] = _Server.forked()
    perform(request)


def main() -> None:
    """Serve; each new process leaves here."""
    preload()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        request = _serve(connection)
    if request is not None:
        perform(request)


def perform(request: dict[str, Any]) -> NoReturn:
    """Be the interpreter that was asked for, to its end."""
    code = 0
    try:
        _interpret(request["argv"])
    except SystemExit as end:
        code = _code(end)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:  # noqa: BLE001  # it is printed, and the exit code says so
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    _end(code)


if __name__ == "__main__":
    main()
