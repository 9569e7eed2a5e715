"""Control files: they decide how people, agents and machines treat a project.

A build changes them only with a person's consent. The list is data; ``docs/concepts/build.md``
shows most of it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

NAMES: tuple[str, ...] = (
    # Artificer's own, and instructions for other agents
    "artificer.toml", "*.clad.toml", "agents.md", "agents.override.md", "claude.md",
    "claude.local.md", "gemini.md", ".cursorrules", ".windsurfrules", ".clinerules", ".roorules",
    ".goosehints", ".aider.conf.yml", "copilot-instructions.md", ".mcp.json",
    # what runs when someone enters, opens, tests or imports
    ".envrc", "mise.toml", ".mise.toml", "conftest.py", "sitecustomize.*", "usercustomize.*",
    "*.pth", ".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", ".lefthook.yml",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pip.conf", ".pypirc", ".pythonstartup",
    # what git does
    ".gitattributes", ".gitmodules", ".gitconfig", "codeowners",
    # what machines do with a push
    ".gitlab-ci.yml", "jenkinsfile", "azure-pipelines.yml", "azure-pipelines.yaml", ".travis.yml",
    "appveyor.yml", ".appveyor.yml", "bitbucket-pipelines.yml", ".drone.yml", ".cirrus.yml",
    "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", ".woodpecker.yml",
)  # fmt: skip
"""Names of files, anywhere in the tree, without regard to case."""

FOLDERS: tuple[str, ...] = (
    ".artificer", ".circleci", ".buildkite", ".woodpecker", ".github/workflows", ".github/actions",
    ".gitea/workflows", ".forgejo/workflows", ".gitlab", ".vscode", ".idea", ".devcontainer",
    ".husky", ".githooks", ".claude", ".cursor", ".cargo",
    "sitecustomize", "usercustomize",
)  # fmt: skip
"""Folders, anywhere in the tree, without regard to case: everything in them."""


def is_control(path: str) -> bool:
    """Whether a path is a control file. Case, and dots or blanks at the end, make no difference.

    So is what takes the place of such a folder: a link there leads to files of any name.
    """
    parts = [part.casefold().rstrip(". ") for part in path.split("/")]
    if any(fnmatchcase(parts[-1], name) for name in NAMES):
        return True
    if any(parts[-1] == folder.partition("/")[0] for folder in FOLDERS):
        return True
    whole = "/" + "/".join(parts) + "/"
    return any(f"/{folder}/" in whole for folder in FOLDERS)
