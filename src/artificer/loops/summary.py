"""What a build came to, in words for whoever asked for it."""

from __future__ import annotations

from artificer.loops.build import BuildState, SpecState
from artificer.values.text import clip


def told(build: BuildState) -> str:
    """The build as Markdown: the plan's title, and how each spec stands."""
    title = build.plan.title if build.plan else clip(build.request, 80)
    lines = [f"# {title}", ""]
    if build.plan is not None:
        lines += [build.plan.overview, ""]
    lines += [_line(spec) for spec in build.specs]
    if build.integration:
        lines += ["", f"The integration branch is at `{build.integration}`."]
    if build.stalled:
        lines += ["", f"Stalled: {build.stalled}"]
    if build.reason:
        lines += ["", build.reason]
    return "\n".join(lines).rstrip() + "\n"


def _line(spec: SpecState) -> str:
    done = sum(1 for phase in spec.phases if phase.commit)
    phases = f", {done} of {len(spec.phases)} phases done" if spec.phases else ""
    reason = f": {clip(spec.reason, 300)}" if spec.reason else ""
    return f"- **{spec.name}**: {spec.status}{phases}{reason}"
