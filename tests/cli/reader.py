"""A process that performs every command that only reads: python reader.py HOME PROJECT [UID]

With UID it performs them once, so that all is imported, becomes that user, and performs them again.
Prints what they print, and each one's exit code.
"""

import os
import sys

from artificer.cli.main import perform

COMMANDS = (
    ("runs",),
    ("show", "last"),
    ("explain", "last"),
    ("approve", "last", "--list"),
    ("resolve", "last"),
    ("replay", "last"),
    ("diff", "last", "last"),
    ("export", "last", "-o", "-"),
    ("verify",),
    ("fsck",),
    ("gc", "--dry-run"),
    ("budget",),
    ("workspace", "list"),
    ("workspace", "show", "notes"),
    ("doctor",),
)


def perform_all(home: str, project: str) -> None:
    for command in COMMANDS:
        code = perform(["--home", home, "--project", project, *command])
        print(f"\n{' '.join(command)}: exit {code}", flush=True)


if __name__ == "__main__":
    where = (sys.argv[1], sys.argv[2])
    perform_all(*where)
    if len(sys.argv) > 3:
        print("--- as another user", flush=True)
        print("--- as another user", file=sys.stderr, flush=True)
        os.setgroups([])
        os.setgid(int(sys.argv[3]))
        os.setuid(int(sys.argv[3]))
        perform_all(*where)
