"""Software to be made: from nothing, and in a program that is there."""

from __future__ import annotations

from engineer import UNITTEST, Job, Work

TODO = Job(
    title="A to-do list for the command line",
    constants=({"name": "file", "value": "todo.json", "purpose": "Where the list is kept."},),
    specs={
        "store": (
            [],
            {
                "load": Work(
                    check=f"{UNITTEST} tests.test_load",
                    writes={
                        "todo/__init__.py": '"""A to-do list."""\n',
                        "todo/store.py": '''
                            """The list on disk."""

                            import json
                            from pathlib import Path

                            FILE = "todo.json"


                            def load(path=FILE):
                                place = Path(path)
                                return json.loads(place.read_text()) if place.exists() else []
                            ''',
                        "tests/__init__.py": "",
                        "tests/test_load.py": """
                            import unittest

                            from todo.store import load


                            class LoadTest(unittest.TestCase):
                                def test_there_is_nothing_at_first(self):
                                    self.assertEqual(load("/nonexistent/todo.json"), [])
                            """,
                    },
                ),
                "save": Work(
                    check=f"{UNITTEST} tests.test_save",
                    edits={
                        "todo/store.py": (
                            "def load(",
                            "def save(entries, path=FILE):\n"
                            "    Path(path).write_text(json.dumps(entries))\n\n\n"
                            "def load(",
                        )
                    },
                    writes={
                        "tests/test_save.py": """
                            import tempfile
                            import unittest
                            from pathlib import Path

                            from todo.store import load, save


                            class SaveTest(unittest.TestCase):
                                def test_what_was_saved_is_there(self):
                                    with tempfile.TemporaryDirectory() as folder:
                                        file = Path(folder) / "todo.json"
                                        save(["milk"], file)
                                        self.assertEqual(load(file), ["milk"])
                            """,
                    },
                ),
                "empty": Work(check=f"{UNITTEST} tests.test_load tests.test_save"),
            },
        ),
        "cli": (
            ["store"],
            {
                "parser": Work(
                    check=f"{UNITTEST} tests.test_parser",
                    writes={
                        "todo/cli.py": '''
                            """The command line."""

                            import argparse

                            from todo.store import load, save


                            def parser():
                                made = argparse.ArgumentParser(prog="todo")
                                made.add_argument("words", nargs="*")
                                return made
                            ''',
                        "tests/test_parser.py": """
                            import unittest

                            from todo.cli import parser


                            class ParserTest(unittest.TestCase):
                                def test_words_are_an_entry(self):
                                    self.assertEqual(parser().parse_args(["milk"]).words, ["milk"])
                            """,
                    },
                ),
                "main": Work(
                    check=f"{UNITTEST} tests.test_main",
                    edits={
                        "todo/cli.py": (
                            "def parser():",
                            "def main(argv=None):\n"
                            "    words = parser().parse_args(argv).words\n"
                            "    entries = load()\n"
                            "    if words:\n"
                            '        save([*entries, " ".join(words)])\n'
                            "    else:\n"
                            "        print(*entries, sep=chr(10))\n\n\n"
                            "def parser():",
                        )
                    },
                    writes={
                        "todo/__main__.py": "from todo.cli import main\n\nmain()\n",
                        "tests/test_main.py": """
                            import os
                            import subprocess
                            import sys
                            import tempfile
                            import unittest
                            from pathlib import Path

                            HERE = str(Path(__file__).parent.parent)


                            def todo(folder, *words):
                                return subprocess.run(
                                    [sys.executable, "-m", "todo", *words],
                                    cwd=folder,
                                    env={**os.environ, "PYTHONPATH": HERE},
                                    check=True,
                                    capture_output=True,
                                    text=True,
                                ).stdout


                            class MainTest(unittest.TestCase):
                                def test_what_was_added_is_listed(self):
                                    with tempfile.TemporaryDirectory() as folder:
                                        todo(folder, "buy", "milk")
                                        self.assertEqual(todo(folder), "buy milk\\n")
                            """,
                    },
                ),
                "readme": Work(
                    check=UNITTEST,
                    writes={
                        "README.md": "# todo\n\n`python -m todo buy milk`\n",
                        "tests/test_readme.py": """
                            import unittest
                            from pathlib import Path

                            README = Path(__file__).parent.parent / "README.md"


                            class ReadmeTest(unittest.TestCase):
                                def test_it_says_how_to_add(self):
                                    self.assertIn("python -m todo buy milk", README.read_text())
                            """,
                    },
                ),
            },
        ),
    },
)

GREETER = {
    ".gitignore": "__pycache__/\n",
    "greet.py": '''\
"""Greets."""

import argparse


def greeting(name):
    return f"Hello, {name}!"


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    asked = parser.parse_args(argv)
    print(greeting(asked.name))


if __name__ == "__main__":
    main()
''',
    "test_greet.py": """\
import unittest

from greet import greeting


class GreetTest(unittest.TestCase):
    def test_by_name(self):
        self.assertEqual(greeting("Ada"), "Hello, Ada!")
""",
}
"""A program that is there, with its tests."""

SHOUT = Job(
    title="An option to shout",
    specs={
        "shout": (
            [],
            {
                "capitals": Work(
                    check=UNITTEST,
                    edits={
                        "greet.py": (
                            'def greeting(name):\n    return f"Hello, {name}!"\n',
                            "def greeting(name, shout=False):\n"
                            '    said = f"Hello, {name}!"\n'
                            "    return said.upper() if shout else said\n",
                        )
                    },
                    writes={
                        "test_shout.py": """
                            import unittest

                            from greet import greeting


                            class ShoutTest(unittest.TestCase):
                                def test_in_capitals(self):
                                    self.assertEqual(greeting("Ada", shout=True), "HELLO, ADA!")
                            """,
                    },
                ),
                "option": Work(
                    check=UNITTEST,
                    edits={
                        "greet.py": (
                            '    parser.add_argument("name")\n'
                            "    asked = parser.parse_args(argv)\n"
                            "    print(greeting(asked.name))\n",
                            '    parser.add_argument("name")\n'
                            '    parser.add_argument("--shout", action="store_true")\n'
                            "    asked = parser.parse_args(argv)\n"
                            "    print(greeting(asked.name, asked.shout))\n",
                        )
                    },
                    writes={
                        "test_option.py": """
                            import contextlib
                            import io
                            import unittest

                            from greet import main


                            class OptionTest(unittest.TestCase):
                                def test_from_the_command_line(self):
                                    said = io.StringIO()
                                    with contextlib.redirect_stdout(said):
                                        main(["Ada", "--shout"])
                                    self.assertEqual(said.getvalue(), "HELLO, ADA!\\n")
                            """,
                    },
                ),
                "whole": Work(check=UNITTEST),
            },
        )
    },
)
"""An option for it, that must not break what it does."""

BRIEF = Job(
    title="Shouting",
    specs={"brief": ([], {"brief": SHOUT.specs["shout"][1]["capitals"]})},
)
"""The same in one go, without a plan."""
