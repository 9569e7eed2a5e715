"""``examples/plugin``, installed: a package that adds one of each kind to Artificer."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import preloaded

PLUGIN = Path(__file__).parents[1] / "examples" / "plugin"


HELLO = """
[tool]
name = "hello"
version = "1"
binary = "echo"
description = "Greet."
[command]
exec = ["echo", "hello"]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages with the plug-in."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the plug-in, is not installed: run `make test`")
    source = tmp_path_factory.mktemp("plugin") / "source"
    shutil.copytree(PLUGIN, source)
    target = source.parent / "site"
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    command = (sys.executable, "-m", "pip", "install", *offline, "--target", str(target))
    subprocess.run([*command, str(source)], check=True, capture_output=True)
    return target


class Project:
    """A folder with the plug-in's tools and a database, where commands are run."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH")))),
            "ARTIFICER_HOME": str(folder / "home"),
        }
        shutil.copytree(PLUGIN / "tools", folder / "tools")
        with sqlite3.connect(folder / "people.db") as database:
            database.execute("CREATE TABLE people (name TEXT, born INTEGER)")
            people = [("Alan", 1912), ("Ada", 1815), ("Emmy", 1882)]
            database.executemany("INSERT INTO people VALUES (?, ?)", people)
        database.close()

    def artificer(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return preloaded.run(
            ["-m", "artificer", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )

    def run(self, prompt: str) -> subprocess.CompletedProcess[str]:
        """Make a run with the plug-in's provider and its tool."""
        own = ("--kind", "chat", "--model", "relay/any", "--tools", "tools")
        return self.artificer("run", prompt, *own)


@pytest.fixture
def project(tmp_path: Path, site: Path) -> Project:
    """A project with the plug-in installed."""
    return Project(tmp_path, site)


@pytest.mark.req("plugin-backend", "plugin-provider")
def test_an_installed_package_adds_a_backend_and_a_provider(project: Project) -> None:
    made = project.run('{"born_before": 1900}')
    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == (
        '{"rows": [{"name": "Ada", "born": 1815}, {"name": "Emmy", "born": 1882}], '
        '"complete": true}'
    )
    replayed = project.artificer("replay", "last")
    assert replayed.returncode == 0, replayed.stderr


@pytest.mark.req("plugin-backend")
def test_its_calls_pass_the_same_gate(project: Project) -> None:
    made = project.run('{"born_before": "1900"}')
    assert "has the wrong type" in made.stdout
    policy = '[policy]\nrules = [{ origin = "sqlite:*", decision = "deny" }]\n'
    (project.folder / "artificer.toml").write_text(policy)
    assert "The policy does not allow this call" in project.run('{"born_before": 1}').stdout


@pytest.mark.req("plugin-backend")
def test_its_tools_show_what_a_call_would_do(project: Project) -> None:
    own = ("tools", "run", "tools", "people", "--args", '{"born_before": 1900}', "--dry-run")
    shown = json.loads(project.artificer(*own).stdout)
    assert shown["status"] == "dry_run"
    assert shown["query"].startswith("SELECT") and shown["values"] == {"born_before": 1900}


@pytest.mark.req("plugin-backend")
def test_a_policy_may_name_its_tools_in_a_run_without_them(project: Project) -> None:
    policy = '[policy]\nrules = [{{ origin = "{}:*", decision = "deny" }}]\n'
    run = ("run", "{}", "--kind", "chat", "--model", "relay/any", "--tools", "others")
    (project.folder / "others").mkdir()
    (project.folder / "others" / "hello.clad.toml").write_text(HELLO)
    (project.folder / "artificer.toml").write_text(policy.format("sqlite"))
    assert project.artificer(*run).returncode == 0
    (project.folder / "artificer.toml").write_text(policy.format("sqlit"))
    refused = project.artificer(*run)
    assert refused.returncode == 3
    assert "tools come from" in refused.stderr and "sqlite" in refused.stderr


@pytest.mark.req("plugin-backend")
def test_its_settings_are_checked(project: Project) -> None:
    (project.folder / "artificer.toml").write_text("[backends.sqlite]\nmax_rows = 1\n")
    assert '"complete": false' in project.run('{"born_before": 1900}').stdout
    (project.folder / "artificer.toml").write_text("[backends.sqlite]\nmax_rows = 0\n")
    assert "backends.sqlite.max_rows" in project.run('{"born_before": 1900}').stderr
    assert "no  settings backends.sqlite" in project.artificer("doctor").stdout


@pytest.mark.req("plugin-backend")
def test_faults_of_its_section_have_lines_and_hints(project: Project) -> None:
    manifest = project.folder / "tools" / "people.clad.toml"
    text = manifest.read_text()
    manifest.write_text(text.replace(":born_before", ":year"))
    faults = project.artificer("tools", "check", "tools").stdout
    assert "people.clad.toml:16: sqlite.query: :year is not an argument" in faults
    manifest.write_text(text.replace("query =", "querry ="))
    faults = project.artificer("tools", "check", "tools").stdout
    assert "sqlite.querry: is not a known key; did you mean 'query'?" in faults
    manifest.write_text(text.replace("[sqlite]", "[sqlit]"))
    faults = project.artificer("tools", "check", "tools").stdout
    assert "sqlit: is not a known key; did you mean 'sqlite'?" in faults


@pytest.mark.req("plugin-storage")
def test_an_installed_package_adds_a_storage(project: Project) -> None:
    place = project.folder / "else where"
    url = f"elsewhere://{place.as_posix().replace(' ', '%20')}"
    (project.folder / "artificer.toml").write_text(f'storage = "{url}"\nproject = "own"\n')
    assert project.run('{"born_before": 1900}').returncode == 0
    assert (place / "own" / "journal.db").exists()
    assert not (project.folder / "home" / "own" / "journal.db").exists()
    assert "relay/any" in project.artificer("runs").stdout
    for command in (("replay", "last"), ("verify",)):
        done = project.artificer(*command)
        assert done.returncode == 0, done.stderr


@pytest.mark.req("plugin-storage")
def test_a_storage_that_is_not_there_is_an_error(project: Project) -> None:
    (project.folder / "artificer.toml").write_text('storage = "nowhere://x"\n')
    assert "Unknown storage: 'nowhere'" in project.run('{"born_before": 1}').stderr
    (project.folder / "artificer.toml").write_text('storage = "elsewhere://x"\n')
    assert "does not name a folder" in project.run('{"born_before": 1}').stderr


PLAIN = """
from artificer.extend import SQLITE


class Journal:
    def __init__(self, inner):
        self.acquire, self.release = inner.acquire, inner.release
        self.append, self.read, self.runs = inner.append, inner.read, inner.runs


class Plain:
    def __init__(self, inner):
        self.journal, self.blobs, self.signals = Journal(inner.journal), inner.blobs, inner.signals
        self.budget, self.versions, self.snapshots = inner.budget, inner.versions, inner.snapshots
        self.aclose = inner.aclose


class Kind:
    async def open(self, place):
        storage = await SQLITE.open(place)
        return storage and Plain(storage)


STORAGE = Kind()
"""


@pytest.mark.req("storage-without-chain")
def test_a_storage_may_have_no_chain_of_its_world(project: Project, site: Path) -> None:
    plain = project.folder / "plain"
    shutil.copytree(site, plain)
    (plain / "artificer_plugin" / "storage.py").write_text(PLAIN)
    project.environment["PYTHONPATH"] = str(plain)
    (project.folder / "artificer.toml").write_text('storage = "elsewhere://x"\n')
    assert project.run('{"born_before": 1900}').returncode == 0
    for command in (("replay", "last"), ("gc",)):
        assert project.artificer(*command).returncode == 0
    checked = project.artificer("verify")
    assert checked.returncode == 0 and "sound: 1 run" in checked.stderr
    assert "not checked: the storage has no chain of its world" in checked.stderr
    assert json.loads(project.artificer("verify", "--json").stdout)["world"] is None
    (project.folder / "heads.txt").write_text(checked.stdout)
    for command in (
        ("audit",),
        ("verify", "--against", "heads.txt"),
        ("prune", "last", "--forever"),
    ):
        refused = project.artificer(*command)
        assert refused.returncode == 3, command
        assert "error: This world's storage" in refused.stderr and "hint: " in refused.stderr


@pytest.mark.req("plugin-secrets")
def test_an_installed_package_adds_a_source_of_secrets(project: Project) -> None:
    file = project.folder / "our.env"
    file.write_text("TRACKER=tr-51Hq8Zr7Tn3V\n")
    (project.folder / "artificer.toml").write_text(f'secrets = ["dotenv:{file}"]\n')
    tools = project.folder / "secret"
    tools.mkdir()
    script = "test ${#T} = 15 && echo it is $T"
    text = HELLO.replace(
        '["echo", "hello"]', f'["sh", "-c", "{script}"]\nenv.T = "{{_secret:tracker}}"'
    )
    (tools / "hello.clad.toml").write_text(text.replace('binary = "echo"\n', ""))
    said = project.artificer("tools", "run", "secret", "hello", "--content")
    assert "it is [secret tracker]" in said.stdout, said
    file.unlink()
    said = project.artificer("tools", "run", "secret", "hello", "--content")
    assert f"not run: {file}, line TRACKER=… is not set" in said.stdout, said


@pytest.mark.req("plugin-unusable")
def test_a_package_that_cannot_be_used_is_named(project: Project, site: Path) -> None:
    broken = project.folder / "broken"
    shutil.copytree(site, broken)
    (broken / "artificer_plugin" / "backend.py").write_text("BACKEND = 1 / 0\n")
    project.environment["PYTHONPATH"] = str(broken)
    made = project.artificer("tools", "check", "tools")
    assert made.returncode == 3, made.stderr
    assert "The plug-in 'sqlite' of artificer-example-plugin" in made.stderr
    assert "ZeroDivisionError" in made.stderr and "Update artificer-example-plugin" in made.stderr
    (broken / "artificer_plugin" / "backend.py").write_text("BACKEND = 1\n")
    made = project.artificer("tools", "check", "tools")
    assert "is of type int, not Backend" in made.stderr


@pytest.mark.req("world-request-checked")
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("raise KeyError('system')", "failed to prepare a request: KeyError: 'system'"),
        ("return None", "prepared a NoneType, not a PreparedRequest."),
        ("return PreparedRequest({'x': object()}, 'm', [])", "prepared a request that cannot be"),
    ],
)
def test_a_provider_that_cannot_prepare_a_summary_is_named_with_its_package(
    project: Project, site: Path, line: str, said: str
) -> None:
    broken = project.folder / "broken"
    shutil.copytree(site, broken)
    provider = broken / "artificer_plugin" / "provider.py"
    text = provider.read_text()
    summary = f"        if not request.tools:\n            {line}\n        fields ="
    provider.write_text(text.replace("        fields =", summary, 1))
    project.environment["PYTHONPATH"] = str(broken)
    (project.folder / "artificer.toml").write_text('context_tokens."relay/any" = 1000\n')
    assert project.run('{"born_before": 1900}').returncode == 0
    long = '{"born_before": 1800}' + " " * 2_000
    failed = project.artificer("follow-up", "last", long, "--tools", "tools")
    assert failed.returncode == 4, failed
    assert f"The provider relay of artificer-example-plugin 1.0.0 {said}" in failed.stderr


@pytest.mark.req("plugin-exits")
def test_only_a_packages_own_command_may_end_the_program(project: Project, site: Path) -> None:
    broken = project.folder / "broken"
    shutil.copytree(site, broken)
    package = broken / "artificer_plugin"
    (package / "commands.py").write_text(
        "import click, sys\n\n@click.command()\ndef sqlite(): sys.exit(9)\n"
    )
    spec = (package / "spec.py").read_text()
    project.environment["PYTHONPATH"] = str(broken)
    assert project.artificer("sqlite").returncode == 9
    for error in ("SystemExit(0)", "asyncio.CancelledError()", "GeneratorExit()"):
        raised = f"        import asyncio\n        raise {error}\n        places ="
        (package / "spec.py").write_text(spec.replace("        places =", raised, 1))
        checked = project.artificer("tools", "check", "tools")
        assert checked.returncode == 3, checked
        name = error.rpartition(".")[2].partition("(")[0]
        assert f"The package artificer-example-plugin 1.0.0 raised {name}" in checked.stderr


@pytest.mark.req("plugin-command", "plugin-doctor", "plugin-blamed")
def test_an_installed_package_adds_a_command(project: Project, site: Path) -> None:
    shown = project.artificer("sqlite", "people.db")
    assert (shown.returncode, shown.stdout) == (0, "people: name, born\n"), shown.stderr
    missing = project.artificer("sqlite", "nowhere.db")
    assert missing.returncode == 3 and "hint: Name a database." in missing.stderr
    assert "Missing argument 'FILE'" in project.artificer("sqlite").stderr
    assert "No such command 'sqlit'" in project.artificer("sqlit").stderr
    broken = project.folder / "broken"
    shutil.copytree(site, broken)
    (broken / "artificer_plugin" / "commands.py").write_text(
        "import click\n\n@click.command()\ndef sqlite(): raise KeyError('Bad luck')\n"
    )
    (broken / "artificer_plugin" / "storage.py").write_text("STORAGE = 1 / 0\n")
    project.environment["PYTHONPATH"] = str(broken)
    failed = project.artificer("sqlite")
    assert failed.returncode == 70
    assert "This is a bug in the package artificer-example-plugin 1.0.0." in failed.stderr
    found = {
        line["what"]: line for line in json.loads(project.artificer("doctor", "--json").stdout)
    }
    assert found["artificer.providers relay"]["detail"] == "artificer-example-plugin 1.0.0"
    assert found["artificer.commands sqlite"]["ok"] is True
    assert found["artificer.storage elsewhere"]["ok"] is False
    assert "ZeroDivisionError" in found["artificer.storage elsewhere"]["detail"]


@pytest.mark.req("plugin-conformance")
def test_it_passes_the_conformance_suites_of_its_seams(project: Project) -> None:
    tests = shutil.copytree(PLUGIN / "tests", project.folder / "tests")
    quiet = ("-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", str(tests))
    plugins = ("-p", "pytest_asyncio.plugin", "-p", "_hypothesis_pytestplugin")
    done = preloaded.run(
        ["-m", "pytest", *quiet, *plugins, str(tests)],
        cwd=project.folder,
        env={**project.environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
