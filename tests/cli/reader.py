"""A process that performs every command that only reads: python reader.py HOME PROJECT [UID|ro]

With UID it performs them once, so that all is imported, becomes that user, and performs them again;
with ro it makes the home's file system read-only, for itself alone, before it performs them again.
Prints what they print, and each one's exit code.
"""

import ctypes
import os
import subprocess
import sys

from artificer.cli.main import perform

CLONE_NEWNS = 0x20000

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
    ("prune", "--older-than", "0"),
    ("budget",),
    ("workspace", "list"),
    ("workspace", "show", "notes"),
    ("doctor",),
)


def perform_all(home: str, project: str) -> None:
    for command in COMMANDS:
        code = perform(["--home", home, "--project", project, *command])
        print(f"\n{' '.join(command)}: exit {code}", flush=True)


def mount_read_only(folder: str) -> None:
    """Let nobody write there, as this process sees it: the mounts of others stay as they are."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    for words in (
        ("--make-rprivate", "/"),
        ("--bind", folder, folder),
        ("-o", "remount,ro,bind", folder),
    ):
        subprocess.run(["mount", *words], check=True)
    assert not os.access(folder, os.W_OK)


def become(user: int) -> None:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


if __name__ == "__main__":
    where = (sys.argv[1], sys.argv[2])
    perform_all(*where)
    if len(sys.argv) > 3:
        for stream in (sys.stdout, sys.stderr):
            print("--- once more", file=stream, flush=True)
        if sys.argv[3] == "ro":
            mount_read_only(where[0])
        else:
            become(int(sys.argv[3]))
        perform_all(*where)
