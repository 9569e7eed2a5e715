"""A small build: specs of three phases each, that write a file a phase and test in no time.

The project's test is ``make test``: no file may hold the word ``broken``. It counts in TAP.
"""

from __future__ import annotations

from engineer import Job, Work

CHECK = "make test"

PROJECT = {
    "Makefile": (
        "test:\n"
        "\t@n=0; for f in *.txt */*.txt; do [ -f $$f ] || continue; \\\n"
        "\twhile read -r l; do case $$l in *broken*) echo $$f; exit 1;; esac; \\\n"
        "\tdone < $$f; done; \\\n"
        "\tfor f in *.txt */*.txt; do [ -f $$f ] || continue; n=$$((n + 1)); \\\n"
        "\techo ok $$n; done; echo 1..$$n\n"
    ),
    "README.md": "# Parts\n",
}


def part(name: str, **texts: str) -> dict[str, Work]:
    """Three phases of a spec, each of which writes a file of its own; ``texts`` by phase."""
    return {
        phase: Work(check=CHECK, writes={f"{name}/{phase}.txt": texts.get(phase, f"{name}\n")})
        for phase in ("one", "two", "three")
    }


PARTS = Job(
    title="Three parts",
    specs={
        "base": ([], part("base")),
        "left": (["base"], part("left")),
        "right": ([], part("right")),
    },
    tries=False,
)
"""One that another depends on, and one that depends on nothing."""

ONE = Job(title="One part", specs={"left": ([], part("left"))}, tries=False)
"""A single one."""

PAIR = Job(
    title="A pair", specs={"left": ([], part("left")), "right": ([], part("right"))}, tries=False
)
"""Two that know nothing of each other."""
