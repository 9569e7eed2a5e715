#!/bin/sh
# The programs and files that tests use and pip cannot bring. As root, with apt-get, it installs those that
# are missing (as in CI and in a container); for anyone else it names them, and their tests skip.
set -eu

is_here() { # one of the programs of a row, or its file
    for program in $(echo "$1" | tr '|' ' '); do
        command -v "$program" >/dev/null || [ -f "$program" ] && return
    done
    return 1
}

missing=
while read -r programs packages; do
    is_here "$programs" || missing="$missing $packages"
done <<'PROGRAMS'
/usr/share/java/preflight.jar libpdfbox2-java libactivation-java libjaxb-api-java
bc bc
bwrap bubblewrap
cc gcc
chromium|chromium-headless-shell|chromium-browser|google-chrome chromium-headless-shell fonts-liberation libpangoft2-1.0-0
ffmpeg ffmpeg
git git
java default-jre-headless
jq jq
node nodejs
npm npm
pg_ctlcluster postgresql
qpdf qpdf
rg ripgrep
soffice libreoffice-writer-nogui libreoffice-calc-nogui
sqlite3 sqlite3
strace strace
PROGRAMS

[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing$missing …"
    apt-get update -qq
    # Without a place of manual pages, none of them is indexed, which takes seconds.
    # shellcheck disable=SC2086  (a list of names)
    MANPATH=/nowhere DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
else
    echo "Tests that need these will be skipped; install them with your package manager:$missing"
fi
