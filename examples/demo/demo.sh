#!/bin/sh
# A page about this checkout by the embedded model, and what keeps it honest.
#
# The model is SmolLM2-135M: small enough to fetch and run anywhere, and far too small to be clever.
# It chooses what to show and places it; every number comes from the result of a tool.
set -eu

here=$(dirname "$0")
out=${1:-.demo/report}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

echo "1. Fetching the model …"
artificer local fetch

echo "2. Letting it make a page about this checkout …"
python "$here/page.py" "$out"
artificer show last --html "$out" > "$copy/made"

echo "3. A wrong call is refused, with what is wrong and where:"
python "$here/refused.py"

echo "4. One byte is changed in a copy of the journal, and \`artificer verify\` names it:"
python "$here/flip.py" "$ARTIFICER_HOME" "$copy"
if ARTIFICER_HOME="$copy" artificer verify > "$copy/verified" 2>&1; then
    echo "   it was not noticed" >&2
    exit 1
fi
grep "^problem.*blob" "$copy/verified" | sed 's/^/   /'

echo "5. The journal itself reproduces the run:"
artificer replay last | sed 's/^/   /'

echo
echo "The page:               $out/report.html"
echo "How it was made:        $(cat "$copy/made")"
echo "The run in the browser: ARTIFICER_HOME=$ARTIFICER_HOME PATH=$(dirname "$(command -v artificer)"):\$PATH artificer studio --run last"
