#!/bin/sh
# Make the roles of compose.yaml when the database is made: the owner of the world, who is no
# superuser, and the workers' role, to which `artificer init --role worker` gives its rights.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
\set owner_password `cat /run/secrets/owner_password`
\set worker_password `cat /run/secrets/worker_password`
CREATE ROLE owner LOGIN PASSWORD :'owner_password';
CREATE ROLE worker LOGIN PASSWORD :'worker_password';
GRANT CREATE ON DATABASE artificer TO owner;
SQL
