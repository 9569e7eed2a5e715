#!/bin/sh
# The official MCP conformance suite against `artificer mcp` and against Artificer's client.
# Needs npm; the suite needs Node 22, which npm brings too. Results: docs/conformance.md.
# With them it installs axe-core, which tests of pages run.
# Usage: bench/conformance.sh [--install | SCENARIO…]     (PYTHON, PORT and CONFORMANCE_DIR may be set)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-$here/../.venv/bin/python}
port=${PORT:-8765}
node=${CONFORMANCE_DIR:-${TMPDIR:-/tmp}/artificer-conformance}

mkdir -p "$node"
if [ ! -x "$node/node_modules/.bin/conformance" ] || [ ! -d "$node/node_modules/axe-core" ]; then
    (cd "$node" && npm init -y >/dev/null && npm install --silent node@22 \
        @modelcontextprotocol/conformance@0.1.16 axe-core@4.14.1)
fi
[ "${1:-}" != --install ] || exit 0
PATH="$node/node_modules/node/bin:$PATH"
suite="$node/node_modules/.bin/conformance"

home=$(mktemp -d)
said=$(mktemp)
client=
"$python" -m artificer --home "$home" --project conformance mcp \
    --tools "$here/conformance" --http "$port" &
server=$!
trap 'kill "$server" $client 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$home" "$said"' EXIT

if [ "$#" -eq 0 ]; then  # beside the server, of which it knows nothing
    for scenario in initialize tools_call sse-retry elicitation-sep1034-client-defaults \
        auth/client-credentials-basic auth/pre-registration; do
        "$suite" client --command "$python $here/conformance/client.py" \
            --scenario "$scenario" 2>&1 || true
    done >"$said" &
    client=$!
fi

tries=0
until curl -s -o /dev/null "http://127.0.0.1:$port/mcp"; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { echo "the server did not start" >&2; exit 1; }
    sleep 0.1
done

echo "== server =="
if [ "$#" -gt 0 ]; then
    for scenario; do
        "$suite" server --url "http://127.0.0.1:$port/mcp" --scenario "$scenario" || true
    done
else
    "$suite" server --url "http://127.0.0.1:$port/mcp" || true
    wait "$client"
    echo "== client =="
    cat "$said"
fi
