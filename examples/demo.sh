#!/bin/sh
# A report by the embedded model, then the proof that its journal reproduces itself.
#
# The model is SmolLM2-135M: small enough to fetch and run anywhere, and far too small to be clever.
# It shows the machinery, not intelligence. It is asked for two artifacts by name, because a model
# of this size does not choose well between eleven tools; what stands in them is its own.
set -eu

out=${1:-.demo/report}

echo "1. Fetching the model …"
artificer local fetch

echo "2. Asking it for a report …"
artificer run "People on our hike: 12 children, 30 adults and 8 seniors." \
    --model local/smollm2 \
    --system "You write short reports." \
    --choice create_pie_chart --choice create_checklist --choice none \
    --out "$out"

echo "3. Replaying the run …"
artificer replay last
