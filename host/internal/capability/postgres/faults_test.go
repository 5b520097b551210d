package postgres_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// patience is how long the tests wait for something that has to happen.
const patience = time.Minute

// soon waits until a query answers true.
func soon(t *testing.T, admin *pgx.Conn, what, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		var yes bool
		if err := admin.QueryRow(ctx, sql).Scan(&yes); err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
		if yes {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

const (
	busy  = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid())"
	still = "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid())"
)

func long() []abi.SQLStep { return []abi.SQLStep{{SQL: "SELECT pg_sleep(600)"}} }

// TestCancelled ends calls during a long statement: the server stops working on it, and the database
// is usable at once. The same through a pooler.
func TestCancelled(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	admin := server.Conn(t, name)
	tcp := fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", pgtest.Role, server.Port, name)
	for way, dsn := range map[string]string{"socket": dsn, "tcp": tcp, "pooler": server.Pooler(t, name)} {
		db := open(t, postgres.Options{DSN: dsn, PoolSize: 1, StatementTimeout: time.Hour})
		for _, readOnly := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan *abi.Error, 1)
			go func() {
				_, failure := db.Exec(ctx, &abi.SQLExec{ReadOnly: readOnly, Steps: long()}, nil)
				ended <- failure
			}()
			soon(t, admin, way+": the statement runs", busy)
			cancel()
			if failure := <-ended; failure == nil || failure.Code != abi.CodeDeadline || !failure.Retryable || !strings.Contains(failure.Message, "cancelled") {
				t.Errorf("%s: %v", way, failure)
			}
			soon(t, admin, way+": the server has stopped", still)
			ask(t, db, "SELECT 1")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, failure := db.Exec(ctx, &abi.SQLExec{Steps: long()}, nil); failure == nil || failure.Code != abi.CodeDeadline || !strings.Contains(failure.Message, "deadline") {
			t.Errorf("%s: %v", way, failure)
		}
		cancel()
		soon(t, admin, way+": the server has stopped", still)
		ask(t, db, "SELECT 1")
	}
}

// TestStatementTimeout checks that the server ends a statement that takes too long, and that the
// connection goes on.
func TestStatementTimeout(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	for way, dsn := range map[string]string{"direct": dsn, "pooler": server.Pooler(t, name)} {
		db := open(t, postgres.Options{DSN: dsn, PoolSize: 1, StatementTimeout: 200 * time.Millisecond})
		before := ask(t, db, "SELECT pg_backend_pid()").Value(0, 0).Int
		for _, readOnly := range []bool{true, false} {
			failure := refused(t, db, readOnly, nil, abi.CodeDeadline, "longer than the database allows; nothing was done", long()...)
			if !failure.Retryable {
				t.Errorf("%s: %+v", way, failure)
			}
		}
		if after := ask(t, db, "SELECT pg_backend_pid()").Value(0, 0).Int; after != before {
			t.Errorf("%s: another server process", way)
		}
		// Nor may a host that hangs hold what it has locked.
		if idle := ask(t, db, "SELECT current_setting('idle_in_transaction_session_timeout')").Value(0, 0).String(); idle != "1min" {
			t.Errorf("%s: a transaction may be idle for %s", way, idle)
		}
	}
}

// TestPoolExhausted checks that a program waits for a connection, no longer than its call.
func TestPoolExhausted(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	admin := server.Conn(t, name)
	db := open(t, postgres.Options{DSN: dsn, PoolSize: 1, StatementTimeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan *abi.Error, 1)
	go func() {
		_, failure := db.Exec(ctx, &abi.SQLExec{Steps: long()}, nil)
		ended <- failure
	}()
	soon(t, admin, "the only connection is in use", busy)
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, failure := db.Exec(short, &abi.SQLExec{Steps: []abi.SQLStep{{SQL: "SELECT 1"}}}, nil)
	if failure == nil || failure.Code != abi.CodeDeadline || !failure.Retryable || !strings.Contains(failure.Message, "one of the 1 connections that pool_size allows") {
		t.Errorf("without a connection: %v", failure)
	}
	waiting := make(chan *abi.Error, 1)
	go func() {
		_, failure := db.Exec(t.Context(), &abi.SQLExec{Steps: []abi.SQLStep{{SQL: "SELECT 1"}}}, nil)
		waiting <- failure
	}()
	cancel()
	<-ended
	if failure := <-waiting; failure != nil {
		t.Errorf("after the connection was given back: %v", failure)
	}
}

// TestDeadlock lets a program and another session wait for one another: the program is told that it
// may try again, and does.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	db, name := fresh(t)
	write(t, db, nil, abi.SQLStep{SQL: notes}, abi.SQLStep{SQL: "INSERT INTO notes(n) VALUES (1), (2)"})
	server := pgtest.Server(t)
	admin, other := server.Conn(t, name), server.Conn(t, name)
	// The program notices first, as the other one looks only after an hour.
	if _, err := other.Exec(t.Context(), "SET deadlock_timeout = '1h'; BEGIN; UPDATE notes SET text = 'other' WHERE n = 2"); err != nil {
		t.Fatal(err)
	}
	program := []abi.SQLStep{{SQL: "UPDATE notes SET text = 'mine' WHERE n = 1"}, {SQL: "UPDATE notes SET text = 'mine' WHERE n = 2"}}
	ended := make(chan *abi.Error, 1)
	go func() {
		_, failure := db.Exec(t.Context(), &abi.SQLExec{Steps: program}, nil)
		ended <- failure
	}()
	soon(t, admin, "the program waits", "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
	if _, err := other.Exec(t.Context(), "UPDATE notes SET text = 'other' WHERE n = 1; COMMIT"); err != nil {
		t.Fatal(err)
	}
	if failure := <-ended; failure == nil || failure.Code != abi.CodeUnavailable || !failure.Retryable || !strings.Contains(failure.Message, "deadlock") {
		t.Errorf("deadlock: %v", failure)
	}
	write(t, db, nil, program...)
}

// TestLostWhileIdle ends every connection that nobody uses: no caller hears of it.
func TestLostWhileIdle(t *testing.T) {
	t.Parallel()
	db, name := fresh(t)
	admin := pgtest.Server(t).Conn(t, name)
	for _, readOnly := range []bool{true, false} {
		done := make(chan *abi.Error)
		for range 4 {
			go func() {
				_, failure := db.Exec(t.Context(), &abi.SQLExec{Steps: []abi.SQLStep{{SQL: "SELECT pg_sleep(0.1)"}}}, nil)
				done <- failure
			}()
		}
		for range 4 {
			if failure := <-done; failure != nil {
				t.Fatal(failure)
			}
		}
		tag, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if err != nil || tag.RowsAffected() < 2 {
			t.Fatalf("%s, %v", tag, err)
		}
		for range 5 {
			if _, failure := db.Exec(t.Context(), &abi.SQLExec{ReadOnly: readOnly, Steps: []abi.SQLStep{{SQL: "SELECT 1"}}}, nil); failure != nil {
				t.Errorf("after all connections were lost: %v", failure)
			}
		}
	}
}

// firewall passes connections on until it forgets them without a word.
type firewall struct {
	listener net.Listener
	era      atomic.Int64
}

func newFirewall(t *testing.T, target string) *firewall {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &firewall{listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			born := f.era.Load()
			pass := func(to, from net.Conn) {
				buffer := make([]byte, 64<<10)
				for {
					n, err := from.Read(buffer)
					if err != nil {
						_, _ = to.Close(), from.Close()
						return
					}
					if f.era.Load() != born {
						_, _ = io.Copy(io.Discard, from) // and nobody hears of it
						return
					}
					if _, err := to.Write(buffer[:n]); err != nil {
						return
					}
				}
			}
			go pass(server, client)
			go pass(client, server)
		}
	}()
	return f
}

// TestForgottenByFirewall checks that a connection that was idle for long and leads nowhere is
// replaced before anything of a program is sent on it.
func TestForgottenByFirewall(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, _ := server.Database(t)
	wall := newFirewall(t, fmt.Sprintf("127.0.0.1:%d", server.Port))
	dsn := fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", pgtest.Role, wall.listener.Addr(), name)
	db := open(t, postgres.Options{DSN: dsn, IdleCheck: time.Nanosecond})
	first := ask(t, db, "SELECT pg_backend_pid()").Value(0, 0).Int
	if again := ask(t, db, "SELECT pg_backend_pid()").Value(0, 0).Int; again != first {
		t.Errorf("a live connection was not used again")
	}
	wall.era.Add(1)
	if after := ask(t, db, "SELECT pg_backend_pid()").Value(0, 0).Int; after == first {
		t.Errorf("the same process answered")
	}

	// Those that were used a moment ago are found out by the first call that gets no answer.
	db = open(t, postgres.Options{DSN: dsn, IdleCheck: time.Hour})
	done := make(chan *abi.Error)
	for range 4 {
		go func() {
			_, failure := db.Exec(t.Context(), &abi.SQLExec{Steps: []abi.SQLStep{{SQL: "SELECT pg_sleep(0.2)"}}}, nil)
			done <- failure
		}()
	}
	for range 4 {
		if failure := <-done; failure != nil {
			t.Fatal(failure)
		}
	}
	wall.era.Add(1)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, failure := db.Exec(ctx, &abi.SQLExec{Steps: []abi.SQLStep{{SQL: "SELECT 1"}}}, nil); failure == nil || failure.Code != abi.CodeDeadline {
		t.Errorf("without an answer: %v", failure)
	}
	ask(t, db, "SELECT 1")
}

// TestServerLimits asks for more connections than the server gives.
func TestServerLimits(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	server.Exec(t, "ALTER DATABASE "+name+" CONNECTION LIMIT 1")
	other, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, postgres.Options{DSN: dsn})
	failure := refused(t, db, true, nil, abi.CodeUnavailable, "no connection left", abi.SQLStep{SQL: "SELECT 1"})
	if !failure.Retryable {
		t.Errorf("%+v", failure)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The server counts a connection for a moment after it has gone from every table.
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		_, failure := db.Exec(t.Context(), &abi.SQLExec{ReadOnly: true, Steps: []abi.SQLStep{{SQL: "SELECT 1"}}}, nil)
		if failure == nil {
			return
		}
		if !failure.Retryable || time.Now().After(end) {
			t.Fatal(failure)
		}
	}
}

// TestReadOnlyDatabase checks that a database which is set to be read only stays so.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	db := open(t, postgres.Options{DSN: dsn})
	write(t, db, nil, abi.SQLStep{SQL: notes}, abi.SQLStep{SQL: "INSERT INTO notes(n) VALUES (1)"})
	server.Exec(t, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	db = open(t, postgres.Options{DSN: dsn})
	failure := refused(t, db, false, nil, abi.CodeUnavailable, "accepts no writes", abi.SQLStep{SQL: "INSERT INTO notes(n) VALUES (2)"})
	if failure.Details[abi.DetailStep] != "0" {
		t.Errorf("%v", failure.Details)
	}
	if n := ask(t, db, "SELECT count(*) FROM notes").Value(0, 0).Int; n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestEncodings refuses databases that can't hold every text.
func TestEncodings(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		name := "in_" + strings.ToLower(encoding)
		server.Exec(t, "CREATE DATABASE "+name+" OWNER "+pgtest.Role+" ENCODING '"+encoding+"' LOCALE 'C' TEMPLATE template0")
		db := open(t, postgres.Options{DSN: server.DSN(pgtest.Role, name)})
		refused(t, db, true, nil, abi.CodeUnsupported, "UTF8", abi.SQLStep{SQL: "SELECT 1"})
	}
	// What a client says of its own encoding does not count.
	_, dsn := server.Database(t)
	db := open(t, postgres.Options{DSN: dsn + "&client_encoding=LATIN1"})
	if got := ask(t, db, "SELECT U&'\\2603' || $1", abi.Text("é")).Value(0, 0).String(); got != "☃é" {
		t.Errorf("%q", got)
	}
}
