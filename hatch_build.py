"""The README as package registries show it: its links lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?!https?://|#|mailto:)[^)\s]+)\)")


def absolute(readme: str, repository: str) -> str:
    """Return a README whose relative links and pictures are those of the repository."""
    return LINK.sub(
        lambda link: (
            f"{link['image']}[{link['text']}]"
            f"({repository}/{'raw' if link['image'] else 'blob'}/main/{link['path']})"
        ),
        readme,
    )


class ReadmeHook(MetadataHookInterface):
    """Sets the field ``readme`` of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read README.md and make its links absolute."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        readme = absolute(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
