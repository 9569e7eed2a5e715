#!/usr/bin/env python3
"""Counts the lines of a file, and those that are longer than a width."""

import json
import os
import sys
from pathlib import Path

width = int(os.environ["TOOLCLAD_ARG_WIDTH"])
text = Path(os.environ["TOOLCLAD_ARG_FILE"]).read_text(errors="replace")
lengths = [len(line) for line in text.splitlines()]
long = sum(length > width for length in lengths)
sys.stdout.write(
    json.dumps({"lines": len(lengths), "long": long, "longest": max(lengths, default=0)})
)
