"""An export opens no connection, and no file that a report names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from export_sample import hostile

from artificer.render.export.forms import ARTIFACT_FORMS, REPORT_FORMS, artifact_bytes, report_files
from artificer.render.export.single import forms_of
from needs import needs

pytestmark = [
    pytest.mark.req("export-fetches-nothing"),
    needs("strace", "vl_convert", "docx", "weasyprint", "xlsxwriter"),
]


def test_exports_open_no_connection_and_no_file_of_the_report(tmp_path: Path) -> None:
    canary = tmp_path / "canary.png"
    canary.write_bytes(b"\x89PNG")
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "--seccomp-bpf", "-e", "trace=%network,openat,open", "-o", str(trace)]
    command = [*strace, sys.executable, __file__, str(canary)]
    folders = ":".join((str(Path(__file__).parent), str(Path(__file__).parents[1])))
    subprocess.run(command, check=True, env={"PYTHONPATH": folders, "PATH": "/usr/bin:/bin"})
    calls = trace.read_text(encoding="utf-8", errors="replace")
    assert "openat(" in calls
    assert "canary" not in re.sub(r".*execve.*", "", calls)
    assert not re.findall(r".*(?:sa_family=AF_INET|AF_INET6?, SOCK).*", calls)


def _export_all(canary: str) -> None:
    source = hostile(canary)
    for form in REPORT_FORMS:
        report_files(source, form, f"report.{form}")
    for key, artifact in source.report.artifacts.items():
        for single in ARTIFACT_FORMS:
            if single in forms_of(artifact):
                artifact_bytes(artifact, source.payloads[key], single)


if __name__ == "__main__":
    _export_all(sys.argv[1])
