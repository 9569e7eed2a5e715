"""The program of a process that performs one call of a function tool.

It reads the request from its standard input and writes the report to its standard output. The
function itself has neither: its input is empty, and what it prints goes to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import sys
from functools import reduce
from importlib import import_module
from typing import Any

import msgspec

from artificer.backends.function.decorator import FunctionTool
from artificer.backends.function.ended import Ended, end_of, failed
from artificer.backends.function.signature import signature_of
from artificer.contracts.definition import ToolDefinition
from artificer.ports import Call
from artificer.values.canon import canonical


def main() -> None:
    """Perform the call that standard input describes."""
    request = json.loads(sys.stdin.buffer.read())
    report = _own_streams()
    os.register_at_fork(after_in_child=lambda: os.close(report))  # its end is our end
    sys.path[:] = request["path"]
    if request["python_path"] is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = request["python_path"]
    _write(report, msgspec.json.encode(_perform(request)))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0)  # the call has ended, whatever threads or exit handlers the function has left


def _own_streams() -> int:
    """Return a descriptor for the report, and keep the function away from it."""
    report = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return report


def _perform(request: dict[str, Any]) -> Ended:
    try:
        function = _imported(request["place"])
        signature = signature_of(function, {})
        arguments = signature.read(canonical(request["arguments"]))
        if signature.call:
            facts = {**request["call"], "arguments": request["arguments"]}
            facts["definition"] = ToolDefinition.from_json(facts["definition"])
            arguments[signature.call] = Call(**facts)
    except Exception as error:  # noqa: BLE001 - it is all that is known of the call
        return failed(error)
    if inspect.iscoroutinefunction(function):
        return end_of(lambda: asyncio.run(function(**arguments)), {})
    return end_of(function, arguments)


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    found: Any = reduce(getattr, name.split("."), import_module(module))
    return found.function if isinstance(found, FunctionTool) else found


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
