#!/usr/bin/env python3
"""Reads the output of du, whose path is given, and prints it as JSON."""

import json
import sys
from pathlib import Path

lines = Path(sys.argv[1]).read_text(errors="replace").splitlines()
rows = (line.split("\t", 1) for line in lines)
sys.stdout.write(json.dumps([{"bytes": int(size), "path": path} for size, path in rows]))
