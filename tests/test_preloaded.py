"""A fork of the preloading server behaves as an interpreter that was started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import preloaded

pytestmark = pytest.mark.req("tests-processes")

PROGRAMS = {
    "success": "print('done')",
    "an exit code": "import sys; sys.exit(7)",
    "an exit message": "import sys; sys.exit('why')",
    "a signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "an interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT); input()",
    "arguments and folder": "import os, sys; print(sys.argv, sys.path[0], os.getcwd())",
    "environment": "import os; print({k: v for k, v in os.environ.items() if k != 'LC_CTYPE'})",
    "standard input": "import sys; print(sys.stdin.read()[::-1], file=sys.stderr)",
    "descriptors": "import os; print(len(os.listdir('/proc/self/fd')))",
    "at its end": "import atexit, threading; atexit.register(print, 'end');"
    "threading.Timer(0.05, print, ['late']).start()",
    "libraries": "import sys; print('opentelemetry.trace' in sys.modules); import mcp, anthropic;"
    " print(anthropic.__spec__.origin, [name in sys.modules for name in ('anthropic.types', "
    "'opentelemetry.trace')], anthropic._base_client.trace is sys.modules['opentelemetry.trace'])",
    "no terminal": "import os, sys; print(sys.stdout.isatty(), os.getpgrp() == os.getppid())",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_does_what_an_interpreter_does(name: str, tmp_path: Path) -> None:
    words = ["-c", PROGRAMS[name], "one", "two"]
    options = {"input": "text", "text": True, "capture_output": True, "cwd": tmp_path}
    options |= {"env": {"PATH": os.environ["PATH"], "HERE": "ü"}}
    forked = preloaded.run(words, **options)
    started = subprocess.run([sys.executable, *words], check=False, **options)
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr == started.stderr or name == "an interrupt"


@pytest.mark.skipif(preloaded.CLONE is None, reason="this machine has no clone: forks are starts")
def test_it_is_a_child_of_the_tests_that_has_loaded_everything() -> None:
    code = "import os, sys; print(os.getppid(), 'artificer.world' in sys.modules)"
    done = preloaded.run(["-c", code], capture_output=True, text=True)
    assert done.stdout.split() == [str(os.getpid()), "True"]


@pytest.mark.skipif(preloaded.CLONE is None, reason="this machine has no clone: forks are starts")
def test_a_worker_is_a_fork_as_well_and_so_is_its_server() -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        parent = Path(f"/proc/{os.getppid()}/cmdline").read_text(encoding="utf-8")
        assert "forked_workers.py" in parent
        assert os.getpid() in preloaded.servers


def test_an_error_is_printed_with_its_line() -> None:
    done = preloaded.run(["-c", "1 / 0"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_what_changes_an_interpreter_starts_one() -> None:
    code = "import sys; print(sys.flags.utf8_mode, 'artificer.world' in sys.modules)"
    env = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1"}
    done = preloaded.run(["-c", code], env=env, capture_output=True, text=True)
    assert done.stdout == "1 False\n"


def test_its_warnings_are_those_of_its_environment() -> None:
    code = "import sys, warnings; print('artificer.world' in sys.modules); warnings.warn('Oh')"
    env = {"PATH": os.environ["PATH"], "PYTHONWARNINGS": "error"}
    done = preloaded.run(["-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == str(preloaded.CLONE is not None)
    assert done.returncode == 1 and done.stderr.endswith("UserWarning: Oh\n")


async def test_asyncio_sees_its_end() -> None:
    process = await preloaded.start("-c", "import time; time.sleep(600)")
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == -signal.SIGTERM
