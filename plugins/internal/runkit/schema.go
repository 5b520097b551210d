package runkit

// Schema makes the tables, where they are not there yet. The first one is that of an application which
// keeps instances itself, column by column; the others are the host's own.
func Schema(d *Dialect) []string {
	schema := [...]string{
		`CREATE TABLE IF NOT EXISTS {}sandbox_instances (
  key                 TEXT      PRIMARY KEY,
  provider            TEXT      NOT NULL,
  provider_sandbox_id TEXT      NOT NULL,
  latest_snapshot_id  TEXT,
  thread_id           TEXT      NOT NULL,
  latest_run_id       TEXT,
  updated_at          {integer} NOT NULL
)`,
		`CREATE INDEX IF NOT EXISTS alineo_host_instances_updated ON {}sandbox_instances(updated_at, key{bytes})`,
		// One row a run. The secret is in no statement but the one that makes the row and the one that asks for
		// it.
		`CREATE TABLE IF NOT EXISTS {}alineo_host_runs (
  run_id           TEXT{bytes} PRIMARY KEY,
  thread_id        TEXT        NOT NULL,
  status           TEXT        NOT NULL,
  started_at       {integer}   NOT NULL,
  finished_at      {integer},
  error_message    TEXT,
  error_code       TEXT,
  usage            TEXT,
  sandbox_key      TEXT,
  detached_since   {integer},
  cancel_requested INTEGER,
  driver_epoch     {integer},
  status_at        {integer}   NOT NULL,
  secret           {blob}
)`,
		`CREATE INDEX IF NOT EXISTS alineo_host_runs_thread ON {}alineo_host_runs(thread_id, started_at, run_id)`,
		`CREATE INDEX IF NOT EXISTS alineo_host_runs_started ON {}alineo_host_runs(started_at, run_id)`,
		`CREATE INDEX IF NOT EXISTS alineo_host_runs_detached ON {}alineo_host_runs(detached_since, run_id) WHERE status = 'running'`,
		`CREATE INDEX IF NOT EXISTS alineo_host_runs_interrupted ON {}alineo_host_runs(status_at, run_id) WHERE status = 'interrupted'`,
		`CREATE INDEX IF NOT EXISTS alineo_host_runs_sandbox ON {}alineo_host_runs(sandbox_key) WHERE sandbox_key IS NOT NULL`,
		// One row a log: who may append, and where it ends.
		`CREATE TABLE IF NOT EXISTS {}alineo_host_logs (
  run_id  TEXT{bytes} PRIMARY KEY,
  epoch   {integer} NOT NULL,
  tail    {integer} NOT NULL,
  dropped {integer} NOT NULL,
  closed  INTEGER   NOT NULL
){small}`,
		`CREATE TABLE IF NOT EXISTS {}alineo_host_log_events (
  run_id TEXT{bytes} NOT NULL,
  place  {integer}   NOT NULL,
  ts     {integer}   NOT NULL,
  kind   TEXT        NOT NULL,
  data   {blob}      NOT NULL,
  PRIMARY KEY (run_id, place)
){rows}`,
		// One row a key that was locked within the last hour: the fence goes on where it was.
		`CREATE TABLE IF NOT EXISTS {}alineo_host_locks (
  key        TEXT      PRIMARY KEY,
  owner      TEXT      NOT NULL,
  token      TEXT      NOT NULL,
  fence      {integer} NOT NULL,
  expires_at {integer} NOT NULL
){small}`,
	}
	words := d.words()
	statements := make([]string, len(schema))
	for i := range schema {
		statements[i] = words.Replace(schema[i])
	}
	return statements
}
