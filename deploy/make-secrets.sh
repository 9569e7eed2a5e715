#!/bin/sh
# Make the files of secrets/ that are not there. The folder is this user's alone; the files are
# readable, because the users in the containers have other numbers.
set -eu
cd "$(dirname "$0")"
mkdir -p -m 0700 secrets
for name in postgres_password owner_password worker_password objects_secret; do
    [ -s "secrets/$name" ] || od -An -N24 -tx1 /dev/urandom | tr -d ' \n' > "secrets/$name"
done
[ -e secrets/anthropic_api_key ] || : > secrets/anthropic_api_key
chmod 0444 secrets/*
