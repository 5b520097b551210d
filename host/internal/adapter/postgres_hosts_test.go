package adapter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// openLedger opens the PostgreSQL ledger until the test ends.
func openLedger(t *testing.T, rt *plugin.Runtime, dsn string) store.Ledger {
	t.Helper()
	l, err := openPostgres(t.Context(), rt, dsn, "public")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// numbered is a driver that appends entries that count, all of one time.
type numbered struct {
	l    store.Ledger
	key  store.Key
	head store.Head
	next int64
}

func claim(ctx context.Context, l store.Ledger, name, id string) (*numbered, error) {
	n := &numbered{l: l, key: store.Key{Name: name, SandboxID: id}}
	var err error
	for { // a claim may be made again
		n.head, err = l.OpenLedger(ctx, n.key)
		if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknownOutcome) || ctx.Err() != nil {
			return n, err
		}
	}
}

// segment makes the next segment, of so many entries.
func (n *numbered) segment(count int, text string) store.Segment {
	s := store.Segment{Key: n.key, Epoch: n.head.Epoch, Previous: n.head.Hash, Leaves: make([]byte, 32*count)}
	copy(s.ID[:], fmt.Sprintf("%016d", n.next))
	copy(s.Hash[:], fmt.Sprintf("%032d", n.next))
	for i := range count {
		s.Entries = append(s.Entries, store.Entry{
			TS: 1000, Name: n.key.Name, SandboxID: n.key.SandboxID, StepIndex: n.next + int64(i), Event: "exec.output",
			Payload: json.RawMessage(`{"a":"` + text + `"}`),
		})
	}
	return s
}

// accept counts a segment that was written.
func (n *numbered) accept(s *store.Segment) {
	n.head.Hash = append([]byte{}, s.Hash[:]...)
	n.next += int64(len(s.Entries))
}

// append writes so many entries in one segment; what may be sent again is sent again.
func (n *numbered) append(ctx context.Context, count int) error {
	s := n.segment(count, "")
	for {
		err := n.l.Append(ctx, &store.Batch{Segments: []store.Segment{s}})
		switch {
		case err == nil:
			n.accept(&s)
			return nil
		case ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknownOutcome):
			return err
		}
		pause()
	}
}

// pause is before the next try of something that has to succeed in the end.
func pause() { time.Sleep(2 * time.Millisecond) }

// check reads a sandbox and wants every number once and in order.
func (n *numbered) check(ctx context.Context) error {
	var opts store.ReadOptions
	want, last := int64(0), int64(0)
	for {
		page, err := n.l.Read(ctx, n.key, opts)
		if errors.Is(err, store.ErrUnavailable) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range page.Entries {
			e := &page.Entries[i]
			if e.StepIndex != want || e.ID <= last {
				return fmt.Errorf("%s: entry %d (id %d after %d) stands where %d should", n.key, e.StepIndex, e.ID, last, want)
			}
			want, last = want+1, e.ID
		}
		if opts.Cursor = page.Cursor; !page.More {
			break
		}
	}
	if want != n.next {
		return fmt.Errorf("%s: %d entries, %d were acknowledged", n.key, want, n.next)
	}
	return nil
}

// TestPostgresMigrations lets four hosts make the schema of a reference's old ledger at once.
func TestPostgresMigrations(t *testing.T) {
	t.Parallel()
	name, dsn := pgtest.Server(t).Database(t)
	admin := pgtest.Server(t).Conn(t, name)
	_, err := admin.Exec(t.Context(), strings.ReplaceAll(reference, "{}", "public")+`;
		ALTER TABLE alineo_events OWNER TO alineo;
		CREATE INDEX alineo_events_sandbox_id ON alineo_events(sandbox_id); CREATE INDEX alineo_events_name ON alineo_events(name);
		INSERT INTO alineo_events(sandbox_id, name, step_idx, event, payload, ts)
		SELECT 's' || i, 'old', -1, e, '{"runId":"r"}', i FROM generate_series(1, 2000) i, unnest(ARRAY['sandbox_created', 'exec_complete', 'mine']) e`)
	if err != nil {
		t.Fatal(err)
	}
	rt := newRuntime(t)
	var group sync.WaitGroup
	start := make(chan struct{})
	for range 4 {
		l := openLedger(t, rt, dsn)
		group.Go(func() {
			<-start
			details, err := l.FindSandbox(t.Context(), "s77")
			if err != nil || details.ExecCount != 1 || details.RunID != "r" {
				t.Errorf("%+v, %v", details, err)
			}
		})
	}
	close(start)
	group.Wait()
	var events string
	var indexes int
	err = admin.QueryRow(t.Context(), `SELECT (SELECT string_agg(DISTINCT event, ' ' ORDER BY event) FROM alineo_events),
		(SELECT count(*) FROM pg_indexes WHERE indexname IN ('alineo_events_sandbox_id', 'alineo_events_name'))`).Scan(&events, &indexes)
	if err != nil || events != "exec.completed mine sandbox.created" || indexes != 0 {
		t.Errorf("events %q, old indexes %d, %v", events, indexes, err)
	}
	// A newer schema is left as it is, with all that a migration would change.
	if _, err := admin.Exec(t.Context(), `UPDATE alineo_host_schema SET version = 99; DROP TABLE alineo_environments;
		UPDATE alineo_events SET event = 'exec_start' WHERE event = 'mine'; CREATE INDEX alineo_events_name ON alineo_events(name)`); err != nil {
		t.Fatal(err)
	}
	if _, err := openLedger(t, rt, dsn).FindSandbox(t.Context(), "s77"); !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("a newer schema: %v", err)
	}
	err = admin.QueryRow(t.Context(), `SELECT (SELECT string_agg(DISTINCT event, ' ' ORDER BY event) FROM alineo_events),
		(SELECT count(*) FROM pg_class WHERE relname IN ('alineo_events_name', 'alineo_environments'))`).Scan(&events, &indexes)
	if err != nil || events != "exec.completed exec_start sandbox.created" || indexes != 1 {
		t.Errorf("a newer schema was touched: events %q, %d, %v", events, indexes, err)
	}
}

// TestPostgresTerminated cuts connections off again and again while a driver appends.
func TestPostgresTerminated(t *testing.T) {
	t.Parallel()
	name, dsn := pgtest.Server(t).Database(t)
	admin := pgtest.Server(t).Conn(t, name)
	n, err := claim(t.Context(), openLedger(t, newRuntime(t), dsn), "run", "id")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	const enough = 300
	var appended, cut atomic.Int64
	go func() {
		for i := 0; cut.Load() < enough; i++ {
			if err := n.append(t.Context(), 1+i%40); err != nil {
				done <- err
				return
			}
			appended.Add(1)
		}
		done <- nil
	}()
	// On a busy machine a connection may not even be made before it is cut: after some tries it is let be.
	const tries = 5
	tried, before := 0, int64(0)
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			if err := n.check(t.Context()); err != nil {
				t.Error(err)
			}
			t.Logf("%d connections were cut off in %d appends", cut.Load(), appended.Load())
			return
		case <-time.After(5 * time.Millisecond):
		}
		if now := appended.Load(); now > before {
			tried, before = 0, now
		}
		if tried++; tried > tries {
			continue
		}
		tag, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if err != nil {
			t.Fatal(err)
		}
		cut.Add(tag.RowsAffected())
	}
}

// cutter is a server between the host and PostgreSQL that cuts one connection at its next COMMIT.
type cutter struct {
	listener net.Listener
	target   string
	mode     atomic.Int32
	cuts     atomic.Int32
}

const (
	cutBefore int32 = 1 + iota // COMMIT never reaches PostgreSQL
	cutAfter                   // it does, and the answer is lost
)

func newCutter(t *testing.T, server *pgtest.Cluster) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: listener, target: fmt.Sprintf("127.0.0.1:%d", server.Port)}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.serve(client)
		}
	}()
	return c
}

func (c *cutter) serve(client net.Conn) {
	server, err := net.Dial("tcp", c.target)
	if err != nil {
		_ = client.Close()
		return
	}
	var mute atomic.Bool
	answered := make(chan struct{}, 1)
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if mute.Load() {
				answered <- struct{}{}
				return
			}
			if n > 0 {
				_, _ = client.Write(buffer[:n])
			}
			if err != nil {
				_ = client.Close()
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if bytes.Contains(buffer[:n], []byte("COMMIT\x00")) && buffer[0] == 'Q' {
			if mode := c.mode.Swap(0); mode != 0 {
				c.cuts.Add(1)
				if mode == cutAfter {
					mute.Store(true)
					_, _ = server.Write(buffer[:n])
					<-answered
				}
				_ = client.Close()
				_ = server.Close()
				return
			}
		}
		if n > 0 {
			_, _ = server.Write(buffer[:n])
		}
		if err != nil {
			_ = server.Close()
			return
		}
	}
}

// TestPostgresCutAtCommit loses the connection on either side of a COMMIT.
func TestPostgresCutAtCommit(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, _ := server.Database(t)
	proxy := newCutter(t, server)
	port := proxy.listener.Addr().(*net.TCPAddr).Port
	dsn := fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", pgtest.Role, port, name)
	n, err := claim(t.Context(), openLedger(t, newRuntime(t), dsn), "run", "id")
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(10) {
		if err := n.append(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		proxy.mode.Store(cutBefore + i%2)
		s := store.Segment{Key: n.key, Epoch: n.head.Epoch, Previous: n.head.Hash, Leaves: make([]byte, 32), Entries: []store.Entry{
			{TS: 1000, Name: "run", SandboxID: "id", StepIndex: n.next, Event: "e"},
		}}
		s.ID[0], s.Hash[0] = byte(i+1), byte(i+1)
		err := n.l.Append(t.Context(), &store.Batch{Segments: []store.Segment{s}})
		if !errors.Is(err, store.ErrUnknownOutcome) {
			t.Errorf("cut %d: %v, want an unknown outcome", cutBefore+i%2, err)
		}
		if err := n.l.Append(t.Context(), &store.Batch{Segments: []store.Segment{s}}); err != nil {
			t.Errorf("again after cut %d: %v", cutBefore+i%2, err)
		}
		n.next++
		n.head.Hash = append([]byte{}, s.Hash[:]...)
	}
	if got := proxy.cuts.Load(); got != 10 {
		t.Errorf("%d cuts", got)
	}
	if err := n.check(t.Context()); err != nil {
		t.Error(err)
	}
}
