CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE runs (number bigint PRIMARY KEY, run text NOT NULL UNIQUE,
  epoch bigint NOT NULL, seq bigint NOT NULL, hash text NOT NULL, seal text NOT NULL,
  owner text NOT NULL) WITH (fillfactor = 80);
CREATE SEQUENCE entries;
CREATE TABLE records (run text NOT NULL, seq bigint NOT NULL, hash text NOT NULL,
  body bytea NOT NULL, xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  entry bigint NOT NULL DEFAULT nextval('entries'), PRIMARY KEY (run, seq));
CREATE UNIQUE INDEX records_entry ON records (xid, entry);
CREATE TABLE notes (subject text NOT NULL, hash text NOT NULL, body bytea NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  entry bigint PRIMARY KEY DEFAULT nextval('entries'));
CREATE UNIQUE INDEX notes_entry ON notes (xid, entry);
CREATE INDEX notes_subject ON notes (subject, entry);
CREATE TABLE chain (position bigint PRIMARY KEY, world text NOT NULL,
  xid xid8 NOT NULL, entry bigint NOT NULL, UNIQUE (xid, entry));
CREATE TABLE tip (one integer PRIMARY KEY CHECK (one = 1), position bigint NOT NULL,
  world text NOT NULL, xid xid8 NOT NULL, entry bigint NOT NULL);
CREATE TABLE blobs (digest text PRIMARY KEY, data bytea NOT NULL);
CREATE TABLE signals (position bigint PRIMARY KEY, run text NOT NULL, n bigint NOT NULL,
  body bytea NOT NULL, UNIQUE (run, n));
CREATE TABLE spending (account text NOT NULL, n bigint NOT NULL, tokens bigint NOT NULL,
  micros bigint NOT NULL, until bigint, PRIMARY KEY (account, n));
CREATE TABLE versions (run text NOT NULL, workspace text NOT NULL, number bigint NOT NULL,
  digest text NOT NULL, PRIMARY KEY (run, workspace, number));
CREATE UNLOGGED TABLE states (run text PRIMARY KEY, body bytea NOT NULL);
CREATE UNLOGGED TABLE chunks (run text NOT NULL, first bigint NOT NULL,
  body bytea NOT NULL, PRIMARY KEY (run, first));
