"""The child process that serves the embedded model: llama.cpp's own HTTP server.

Run as ``python -m artificer.providers.local_server``. It is a separate process because a crash of
llama.cpp takes its process down. Its settings arrive as one JSON line on stdin, not as arguments,
which every user of the machine can read: the key is among them. It writes its address as one JSON
line to stdout and serves until stdin closes, at the latest when the parent dies for any reason.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any

PROMPT_CACHE_MIB = 256
"""Prompts kept in host memory. The server's own default of 8 GiB is of no use here."""


@dataclass(frozen=True)
class ServerSettings:
    """The settings of the server. ``context`` is the tokens of one slot's prompt and reply."""

    model: str
    key: str
    context: int
    slots: int

    def to_line(self) -> str:
        """Return the settings as a line for the child process."""
        return json.dumps(asdict(self)) + "\n"


def main() -> None:
    """Serve until stdin closes."""
    settings = ServerSettings(**json.loads(sys.stdin.readline()))
    # llama.cpp may print: the original stdout is for the address, the rest goes to stderr.
    answer = os.dup(1)
    os.dup2(2, 1)
    server = _serve(settings)
    os.write(answer, (json.dumps({"address": server.listening_address}) + "\n").encode())
    os.close(answer)
    sys.stdin.read()
    # Not sys.exit: the server's destructor would wait for requests without a reader.
    os._exit(0)


def _serve(settings: ServerSettings) -> Any:
    import xllamacpp  # type: ignore[import-untyped]  # a C extension without stubs

    params = xllamacpp.CommonParams()
    params.model.path = settings.model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings.key]
    params.n_ctx = settings.context * settings.slots
    params.n_parallel = settings.slots
    # Two threads on two cores spin on each other as soon as anything else runs: 27 tokens/s
    # become 2. One thread stays steady.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.use_jinja = True
    params.chat_template = template()
    params.endpoint_slots = True
    params.ui = False
    params.verbosity = 2
    return xllamacpp.Server(params)


def template() -> str:
    """Return our chat template, which lists the tools; the model's own one does not."""
    return (resources.files(__package__) / "local_template.jinja").read_text("utf-8")


if __name__ == "__main__":
    main()
