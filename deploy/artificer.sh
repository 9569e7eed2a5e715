#!/bin/sh
# The command `artificer` of the image. Two libraries read passwords from variables alone: NAME becomes
# the content of the file that NAME_FILE names. Keys of models are read from files by Artificer itself.
set -eu
for name in PGPASSWORD AWS_SECRET_ACCESS_KEY; do
    eval "file=\${${name}_FILE:-}"
    if [ -n "$file" ]; then
        value=$(cat "$file")
        export "$name=$value"
    fi
done
exec /opt/artificer/bin/artificer "$@"
