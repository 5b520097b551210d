package sqlite_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/sqlite"
)

// gate is a batch of one row that stops the program in the middle of its transaction: reached is
// closed when it does, and it goes on when open is closed.
type gate struct {
	reached, open chan struct{}
	once          sync.Once
}

func newGate() *gate {
	return &gate{reached: make(chan struct{}), open: make(chan struct{})}
}

func (g *gate) Len() int     { return 1 }
func (g *gate) Columns() int { return 1 }

func (g *gate) Value(int, int) abi.Value {
	g.once.Do(func() {
		close(g.reached)
		<-g.open
	})
	return abi.Int(42)
}

// hold starts a program that inserts 41 and 42 into t and stops between them. The result comes after
// the gate is opened.
func hold(ctx context.Context, t *testing.T, db *sqlite.DB) (*gate, chan *abi.Error) {
	t.Helper()
	g := newGate()
	result := make(chan *abi.Error, 1)
	go func() {
		var call capability.Call
		step := abi.SQLStep{SQL: "INSERT INTO t VALUES (?)", Batch: call.Put(g), Params: columns(0)}
		_, failure := db.Exec(ctx, write(once("INSERT INTO t VALUES (41)"), step), &call)
		result <- failure
	}()
	<-g.reached
	return g, result
}

const (
	endless      = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
	endlessWrite = "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
)

func TestDeadline(t *testing.T) {
	t.Parallel()
	const wait = 200 * time.Millisecond // for the program to be in that step
	for _, path := range []string{"", sqlite.Memory} {
		for name, exec := range map[string]*abi.SQLExec{
			"query":       read(query(endless)),
			"unkept":      read(abi.SQLStep{SQL: endless, Expect: new(uint64(1))}),
			"query write": write(query(endless)),
			"write":       write(once("INSERT INTO t VALUES (1)"), once(endlessWrite)),
			"later":       write(once("INSERT INTO t VALUES (1)"), query(endless), once("INSERT INTO t VALUES (2)")),
		} {
			db := open(t, sqlite.Options{Path: path})
			must(t, db, write(once("CREATE TABLE t (a)")), nil)
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			start := time.Now()
			failure := fails(ctx, t, db, exec, nil, abi.CodeDeadline, "the deadline passed in step")
			cancel()
			if late := time.Since(start) - wait; late > 10*time.Second {
				t.Errorf("%s: stopped %s late", name, late)
			}
			if !failure.Retryable {
				t.Errorf("%s: not retryable", name)
			}
			// The connection is as good as new: nothing stayed, and nothing is interrupted any more.
			if got := scalar(t, db, "SELECT count(*) FROM t"); got != "0" {
				t.Errorf("%s: %s rows stayed", name, got)
			}
			must(t, db, write(once("INSERT INTO t VALUES (1)")), nil)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{})
	must(t, db, write(once("CREATE TABLE t (a)")), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fails(ctx, t, db, write(once("INSERT INTO t VALUES (1)")), nil, abi.CodeDeadline, "cancelled before")

	// Cancelled between two steps, in the middle of a transaction.
	ctx, cancel = context.WithCancel(t.Context())
	g, result := hold(ctx, t, db)
	cancel()
	close(g.open)
	if failure := <-result; failure != nil && failure.Code != abi.CodeDeadline {
		t.Fatal(failure)
	}
	if got := scalar(t, db, "SELECT count(*) FROM t"); got != "0" {
		t.Errorf("%s rows stayed", got)
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", sqlite.Memory} {
		db := open(t, sqlite.Options{Path: path})
		must(t, db, write(once("CREATE TABLE t (a)")), nil)
		g, result := hold(t.Context(), t, db)

		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		fails(ctx, t, db, write(once("INSERT INTO t VALUES (1)")), nil, abi.CodeDeadline, "while waiting for the programs before it")
		cancel()
		if path != sqlite.Memory {
			// Readers go on, each with what is committed.
			if got := scalar(t, db, "SELECT count(*) FROM t"); got != "0" {
				t.Errorf("a reader sees %s rows of a transaction that is not over", got)
			}
		}
		close(g.open)
		if failure := <-result; failure != nil {
			t.Fatal(failure)
		}
		if got := scalar(t, db, "SELECT group_concat(a) FROM t"); got != "41,42" {
			t.Errorf("table has %s", got)
		}
	}
}

// TestTwoHosts has two DBs on one file, as two hosts would.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/shared.db"
	first := open(t, sqlite.Options{Path: path})
	second := open(t, sqlite.Options{Path: path, BusyTimeout: 30 * time.Millisecond})
	patient := open(t, sqlite.Options{Path: path})
	must(t, first, write(once("CREATE TABLE t (a)")), nil)
	g, result := hold(t.Context(), t, first)

	failure := fails(t.Context(), t, second, write(once("INSERT INTO t VALUES (1)")), nil, abi.CodeUnavailable, "another process is writing")
	if !failure.Retryable {
		t.Error("busy is not retryable")
	}
	if got := scalar(t, second, "SELECT count(*) FROM t"); got != "0" {
		t.Errorf("the second host sees %s rows", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	failure = fails(ctx, t, patient, write(once("INSERT INTO t VALUES (1)")), nil, abi.CodeUnavailable, "another process is writing")
	if ctx.Err() != nil {
		t.Errorf("it was told too late: %v", failure)
	}
	cancel()

	waited := make(chan *abi.Error, 1)
	go func() {
		_, failure := patient.Exec(t.Context(), write(once("INSERT INTO t VALUES (1)")), nil)
		waited <- failure
	}()
	close(g.open)
	if failure := <-result; failure != nil {
		t.Fatal(failure)
	}
	if failure := <-waited; failure != nil {
		t.Fatal(failure)
	}
	for _, db := range []*sqlite.DB{first, second, patient} {
		if got := scalar(t, db, "SELECT group_concat(a) FROM t"); got != "41,42,1" {
			t.Errorf("table has %s", got)
		}
	}
}

// TestTwoHostsStart opens one new file from several hosts at once.
func TestTwoHostsStart(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := t.TempDir() + "/new/shared.db"
		var group sync.WaitGroup
		const hosts, programs = 4, 10
		for range hosts {
			db := open(t, sqlite.Options{Path: path, Synchronous: "normal"})
			group.Go(func() {
				for range programs {
					_, failure := db.Exec(t.Context(), write(once("CREATE TABLE IF NOT EXISTS t (a)"), once("INSERT INTO t VALUES (1)")), nil)
					if failure != nil {
						t.Error(failure)
					}
				}
			})
		}
		group.Wait()
		db := open(t, sqlite.Options{Path: path})
		if got := scalar(t, db, "SELECT count(*) FROM t"); got != show(abi.Int(hosts*programs)) {
			t.Errorf("%s rows", got)
		}
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{Synchronous: "normal", Readers: 2})
	must(t, db, write(once("CREATE TABLE t (a)")), nil)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				if _, failure := db.Exec(t.Context(), write(once("INSERT INTO t VALUES (1)"), once("INSERT INTO t VALUES (2)")), nil); failure != nil {
					t.Error(failure)
				}
			}
		})
		group.Go(func() {
			for range 50 {
				reply, failure := db.Exec(t.Context(), read(query("SELECT count(*) % 2 FROM t")), nil)
				if failure != nil {
					t.Error(failure)
				} else if got := table(t, reply.Steps[0])[0][0]; got != "0" {
					t.Error("a reader saw half a transaction")
				}
			}
		})
	}
	group.Wait()
	if got := scalar(t, db, "SELECT count(*) FROM t"); got != "400" {
		t.Errorf("%s rows, want 400", got)
	}
}

// TestPanickingRows checks that a fault in the rows of a batch leaves no transaction open.
func TestPanickingRows(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", sqlite.Memory} {
		db := open(t, sqlite.Options{Path: path})
		must(t, db, write(once("CREATE TABLE t (a)")), nil)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			var call capability.Call
			step := abi.SQLStep{SQL: "INSERT INTO t VALUES (?)", Batch: call.Put(panicking{}), Params: columns(0)}
			_, _ = db.Exec(t.Context(), write(step), &call)
		}()
		if got := scalar(t, db, "SELECT count(*) FROM t"); got != "0" {
			t.Errorf("%s rows stayed", got)
		}
		must(t, db, write(once("INSERT INTO t VALUES (1)")), nil)
	}
}

type panicking struct{}

func (panicking) Len() int     { return 2 }
func (panicking) Columns() int { return 1 }

func (panicking) Value(row, _ int) abi.Value {
	if row == 1 {
		panic("fault of the host")
	}
	return abi.Null
}
