"""Compile the tests for the workers that will run them: ``python tests/bytecode.py``.

Each worker that finds nothing compiled would do it by itself. pytest keeps test modules, whose
assertions it rewrites, apart from other modules.
"""

from __future__ import annotations

import compileall
import re
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc, get_cache_dir
from _pytest.assertion.rewrite import assertstate_key as state_key

HERE = Path(__file__).parent
REWRITTEN = re.compile(r"(^|/)(test_\w+|conftest)\.py$")


class Compiler:
    """A plug-in that compiles what pytest would collect, in its place."""

    def pytest_collection(self, session: pytest.Session) -> bool:
        for path in sorted(HERE.rglob("*.py")):
            if REWRITTEN.search(str(path)):
                place = get_cache_dir(path)
                place.mkdir(parents=True, exist_ok=True)
                compiled = place / (path.stem + PYC_TAIL)
                if _read_pyc(path, compiled) is None:
                    state = session.config.stash[state_key]
                    stat, code = _rewrite_test(path, session.config)
                    _write_pyc(state, code, stat, compiled)
        return True


if __name__ == "__main__":
    compileall.compile_dir(HERE, quiet=1, rx=REWRITTEN)
    pytest.main(["-q", "--noconftest", str(HERE)], plugins=[Compiler()])
