"""What a section that declares several tools has in common with the other one that does."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from artificer.contracts.arguments.check import Fault
from artificer.contracts.keys.manifest import ManifestKeys


def offer_faults(keys: ManifestKeys, section: str, commands: Sized) -> Iterator[Fault]:
    """What is wrong with a manifest whose tools are the commands of ``section``."""
    if not commands:
        message = "is missing: there is nothing that a model could call"
        yield Fault((section, "commands"), message, lenient=True)
    if "output" in keys.model_fields_set:
        message = f"means nothing here: what a {section} answers has a form of its own"
        yield Fault(("output",), message, lenient=True)
