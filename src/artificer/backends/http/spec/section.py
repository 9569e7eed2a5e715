"""The section ``[http]`` of a manifest."""

from __future__ import annotations

from artificer.backends.http.spec.envelope import http_output_schema
from artificer.backends.http.spec.keys import HttpKeys
from artificer.backends.http.spec.template import (
    FENCING_HEADER,
    TRACE_HEADER,
    HttpTemplate,
    Misread,
    read_template,
)
from artificer.contracts.arguments.check import Fault
from artificer.manifests.keys import ManifestKeys, ProbeKeys
from artificer.manifests.model import Manifest, ManifestSection
from artificer.manifests.output import format_of
from artificer.values.base import JsonObject


class HttpSection(ManifestSection[HttpKeys, HttpTemplate]):
    """A request, made from a template."""

    name = "http"
    keys = HttpKeys
    probes = ("url",)

    def read(
        self, manifest: ManifestKeys, keys: HttpKeys, faults: list[Fault], *, compat: bool
    ) -> HttpTemplate | None:
        """Return the request's template."""
        template, misread = read_template(keys, manifest.args)
        if manifest.tool.probe is not None and manifest.tool.probe.fenced:
            misread += _taken(keys, FENCING_HEADER, "because the probe is fenced")
        if keys.trace:
            misread += _taken(keys, TRACE_HEADER, "because of trace = true")
        faults += [Fault(("http", *fault.key.split(".", 1)), fault.message) for fault in misread]
        return template

    def read_probe(
        self, manifest: ManifestKeys, keys: HttpKeys, probe: ProbeKeys, faults: list[Fault]
    ) -> HttpTemplate | None:
        """Return the template of the request that asks."""
        whole = HttpKeys(
            method=probe.method,
            url=probe.url or "",
            headers=probe.headers,
            success_status=probe.happened_status,
            allow_private=keys.allow_private,
        )
        template, misread = read_template(whole, manifest.args)
        # It need not use every argument, as the tool itself must.
        misread = [fault for fault in misread if "is not used by" not in fault.message]
        if template is None and not misread:
            used = "".join((whole.url, *whole.headers.values()))
            template, _ = read_template(
                whole, {n: a for n, a in manifest.args.items() if f"{{{n}}}" in used}
            )
        if probe.fenced:
            misread += _taken(whole, FENCING_HEADER, "because the probe is fenced")
        faults += [Fault(("tool", "probe", f.key.partition(".")[0]), f.message) for f in misread]
        return template

    def output_schema(self, manifest: Manifest[HttpTemplate]) -> JsonObject | None:
        """Return the schema of what :func:`http_content` writes."""
        plain = format_of(manifest.output) == "text"
        return http_output_schema(manifest.output.result, plain=plain)


def _taken(keys: HttpKeys, header: str, why: str) -> list[Misread]:
    """Return a fault for a header that a call has of itself."""
    named = [name for name in keys.headers if name.lower() == header.lower()]
    return [Misread(f"headers.{name}", f"is written by Artificer, {why}") for name in named]
