"""Any artifact of a deliverable, as a typed payload."""

from __future__ import annotations

from artificer.artifacts.chart import Chart
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.file import TextFile
from artificer.artifacts.list import ItemList
from artificer.artifacts.svg.payload import Svg
from artificer.artifacts.table import Table
from artificer.artifacts.value import CitedValue

Artifact = Chart | Table | ItemList | Checklist | Svg | TextFile | CitedValue
