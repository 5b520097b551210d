package runkit

import "strings"

// Statements are those of all stores, where they run with parameters of their own.
type Statements struct {
	words *strings.Replacer // the dialect

	Instances InstanceSQL
	Runs      RunSQL
	Log       LogSQL
	Locks     LockSQL
}

// InstanceSQL are the statements about instances.
type InstanceSQL struct {
	Get      string // key
	Put      string // the columns
	Delete   string // key
	PutNew   string // the columns
	PutOver  string // the columns, provider sandbox id
	DeleteIf string // key, provider sandbox id
	// List has updated_at below which they are, updated_at and key that the page is behind, and the limit.
	List string
	Now  string
}

// RunSQL are the statements about runs, but patches, which are made for each.
type RunSQL struct {
	Create   string // run id, thread id, status, started at or null, sandbox key or null, secret or null
	Get      string // run id
	Exists   string // run id
	Active   string // thread id
	Claim    string // run id
	ByThread string // thread id, started at and id that the page is behind, limit
	// List is up to its conditions, and Newest what follows them.
	List, Newest string
	// Waiting and Interrupted have the time that they wait since at most, the time and id that the page is
	// behind, and the limit.
	Waiting, Interrupted string
	Count                string // sandbox key, run id
	Secret               string // run id
	Delete               string // run id
	// Forget removes what is left of the log of a run that is not there any more and whose events were removed: run id.
	Forget string
	// Fence is the condition of a conditional patch, for the run's epoch: ?.
	Fence string
	// Ended is the same for a status.
	Ended string
}

// LogSQL are the statements about logs.
type LogSQL struct {
	Advance            string // run id, epoch, events, offset that it must end with or null
	Insert, InsertMany string // see Dialect
	Head               string // run id
	Read               string // run id, offset that the page is behind, limit
	Close              string // run id
	Piece              string // run id: the last offset of what goes at once
	Remove             string // run id, that offset
	Dropped            string // run id, that offset
	More               string // run id
}

// LockSQL are the statements about locks.
type LockSQL struct {
	Acquire string // key, owner, milliseconds
	Look    string // key
	Renew   string // key, token, milliseconds
	Release string // key, token
	Forget  string // removes some rows that nobody has locked for long
}

const (
	instanceColumns = `key, provider, provider_sandbox_id, latest_snapshot_id, thread_id, latest_run_id, updated_at`
	runColumns      = `run_id, thread_id, status, started_at, finished_at, error_message, error_code, usage, sandbox_key,
 detached_since, cancel_requested, driver_epoch`
	isEnded = `status IN ('completed', 'failed', 'aborted')`
)

// Pieces in which a log is removed.
const pieceSQL = `SELECT coalesce(max(place), 0) FROM (SELECT place, row_number() OVER (ORDER BY place) AS n,
  sum(100 + octet_length(data)) OVER (ORDER BY place) AS size
  FROM (SELECT place, data FROM {}alineo_host_log_events WHERE run_id = $1 ORDER BY place LIMIT 4000) AS oldest) AS sized
 WHERE n = 1 OR size <= 16777216`

// NewStatements writes the right ones.
func NewStatements(d Dialect) Statements {
	words := d.words()
	in := words.Replace
	const written = `VALUES ($1, $2, $3, $4, $5, $6, coalesce(nullif(CAST($7 AS {integer}), 0), {now}))`
	return Statements{
		words: words,
		Instances: InstanceSQL{
			Get: in(`SELECT ` + instanceColumns + ` FROM {}sandbox_instances WHERE key = $1`),
			Put: in(`INSERT INTO {}sandbox_instances(` + instanceColumns + `) ` + written + `
 ON CONFLICT (key) DO UPDATE SET provider = excluded.provider, provider_sandbox_id = excluded.provider_sandbox_id,
  latest_snapshot_id = excluded.latest_snapshot_id, thread_id = excluded.thread_id, latest_run_id = excluded.latest_run_id,
  updated_at = excluded.updated_at`),
			Delete: in(`DELETE FROM {}sandbox_instances WHERE key = $1`),
			PutNew: in(`INSERT INTO {}sandbox_instances(` + instanceColumns + `) ` + written + ` ON CONFLICT (key) DO NOTHING`),
			PutOver: in(`UPDATE {}sandbox_instances SET provider = $2, provider_sandbox_id = $3, latest_snapshot_id = $4, thread_id = $5,
 latest_run_id = $6, updated_at = coalesce(nullif(CAST($7 AS {integer}), 0), {now}) WHERE key = $1 AND provider_sandbox_id = $8`),
			DeleteIf: in(`DELETE FROM {}sandbox_instances WHERE key = $1 AND provider_sandbox_id = $2`),
			List: in(`SELECT ` + instanceColumns + ` FROM {}sandbox_instances
 WHERE updated_at < $1 AND (updated_at, key{bytes}) > ($2, $3) ORDER BY updated_at, key{bytes} LIMIT $4`),
			Now: in(`SELECT {now}`),
		},
		Runs: RunSQL{
			Create: in(`INSERT INTO {}alineo_host_runs(run_id, thread_id, status, started_at, sandbox_key, status_at, secret)
 VALUES ($1, $2, $3, coalesce(CAST($4 AS {integer}), {now}), $5, {now}, $6) ON CONFLICT (run_id) DO NOTHING`),
			Get:    in(`SELECT ` + runColumns + ` FROM {}alineo_host_runs WHERE run_id = $1`),
			Exists: in(`SELECT 1 FROM {}alineo_host_runs WHERE run_id = $1`),
			Active: in(`SELECT ` + runColumns + ` FROM {}alineo_host_runs WHERE thread_id = $1 AND status = 'running'
 ORDER BY started_at DESC, run_id DESC LIMIT 1`),
			Claim: in(`UPDATE {}alineo_host_runs SET driver_epoch = coalesce(driver_epoch, 0) + 1
 WHERE run_id = $1 AND status IN ('running', 'interrupted')`),
			ByThread: in(`SELECT ` + runColumns + ` FROM {}alineo_host_runs WHERE thread_id = $1 AND (started_at, run_id) > ($2, $3)
 ORDER BY started_at, run_id LIMIT $4`),
			List:   in(`SELECT ` + runColumns + ` FROM {}alineo_host_runs WHERE TRUE`),
			Newest: ` ORDER BY started_at DESC, run_id DESC LIMIT `,
			Waiting: in(`SELECT ` + runColumns + `, detached_since FROM {}alineo_host_runs
 WHERE status = 'running' AND detached_since <= $1 AND (detached_since, run_id) > ($2, $3) ORDER BY detached_since, run_id LIMIT $4`),
			Interrupted: in(`SELECT ` + runColumns + `, status_at FROM {}alineo_host_runs
 WHERE status = 'interrupted' AND status_at <= $1 AND (status_at, run_id) > ($2, $3) ORDER BY status_at, run_id LIMIT $4`),
			Count:  in(`SELECT count(*) FROM {}alineo_host_runs WHERE sandbox_key = $1 AND run_id <> $2 AND NOT ` + isEnded),
			Secret: in(`SELECT secret FROM {}alineo_host_runs WHERE run_id = $1`),
			Delete: in(`DELETE FROM {}alineo_host_runs WHERE run_id = $1 AND ` + isEnded),
			Forget: in(`DELETE FROM {}alineo_host_logs WHERE run_id = $1
 AND NOT EXISTS (SELECT 1 FROM {}alineo_host_runs WHERE run_id = $1)
 AND NOT EXISTS (SELECT 1 FROM {}alineo_host_log_events WHERE run_id = $1)`),
			Fence: ` AND driver_epoch = `,
			Ended: ` AND NOT ` + isEnded,
		},
		Log: LogSQL{
			// A log that is not there yet ends with 0.
			Advance: in(`INSERT INTO {}alineo_host_logs AS l (run_id, epoch, tail, dropped, closed)
 SELECT $1, CAST($2 AS {integer}), CAST($3 AS {integer}), 0, 0
 WHERE coalesce(CAST($4 AS {integer}), 0) = 0 OR EXISTS (SELECT 1 FROM {}alineo_host_logs WHERE run_id = $1)
 ON CONFLICT (run_id) DO UPDATE SET epoch = excluded.epoch, tail = l.tail + excluded.tail
 WHERE l.closed = 0 AND l.epoch <= excluded.epoch AND l.tail = coalesce(CAST($4 AS {integer}), l.tail)
 RETURNING tail`),
			Insert: in(d.Insert), InsertMany: in(d.InsertMany),
			Head: in(`SELECT tail, dropped, epoch, closed FROM {}alineo_host_logs WHERE run_id = $1`),
			Read: in(`SELECT place, ts, kind, data FROM {}alineo_host_log_events WHERE run_id = $1 AND place > $2 ORDER BY place LIMIT $3`),
			Close: in(`INSERT INTO {}alineo_host_logs(run_id, epoch, tail, dropped, closed) VALUES ($1, 0, 0, 0, 1)
 ON CONFLICT (run_id) DO UPDATE SET closed = 1`),
			Piece:  in(pieceSQL),
			Remove: in(`DELETE FROM {}alineo_host_log_events WHERE run_id = $1 AND place <= $2`),
			Dropped: in(`UPDATE {}alineo_host_logs SET dropped = CAST($2 AS {integer})
 WHERE run_id = $1 AND dropped < CAST($2 AS {integer})`),
			More: in(`SELECT count(*) FROM (SELECT 1 FROM {}alineo_host_log_events WHERE run_id = $1 LIMIT 1) AS rest`),
		},
		Locks: LockSQL{
			// The fence of a key that has no row is the clock's, which is above any that it had: a row goes an hour
			// after it was last used, and nobody locks a key a thousand times a second all that time.
			Acquire: in(`INSERT INTO {}alineo_host_locks AS l (key, owner, token, fence, expires_at)
 VALUES ($1, $2, {token}, {now}, {now} + CAST($3 AS {integer}))
 ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, token = excluded.token, fence = l.fence + 1,
  expires_at = {now} + CAST($3 AS {integer})
 WHERE l.token = '' OR l.expires_at <= {now}
 RETURNING token, fence`),
			Look: in(`SELECT owner, expires_at - {now}, {now} FROM {}alineo_host_locks WHERE key = $1`),
			Renew: in(`UPDATE {}alineo_host_locks SET expires_at = {now} + CAST($3 AS {integer})
 WHERE key = $1 AND token = $2 AND expires_at > {now}`),
			Release: in(`UPDATE {}alineo_host_locks SET token = '', expires_at = {now} WHERE key = $1 AND token = $2 AND expires_at > {now}`),
			Forget: in(`DELETE FROM {}alineo_host_locks WHERE key IN (
  SELECT key FROM {}alineo_host_locks WHERE expires_at < {now} - 3600000 LIMIT 100{skip})`),
		},
	}
}
