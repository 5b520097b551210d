package adapter_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// scissors stand between the host and PostgreSQL, pass on whole messages of the protocol, and cut a
// connection in the middle of one.
type scissors struct {
	listener net.Listener
	target   string
	counting atomic.Bool
	seen     atomic.Int64 // messages, of both directions, since counting began
	cutAt    atomic.Int64 // the message that only half of comes through; 0: none
	cuts     atomic.Int64
}

func newScissors(t *testing.T, server *pgtest.Cluster) *scissors {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scissors{listener: listener, target: fmt.Sprintf("127.0.0.1:%d", server.Port)}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(client)
		}
	}()
	return s
}

func (s *scissors) dsn(database string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", pgtest.Role, s.listener.Addr(), database)
}

func (s *scissors) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", s.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	// The first message has no type, and neither has the request of a cancellation.
	head := make([]byte, 4)
	if _, err := io.ReadFull(client, head); err != nil {
		return
	}
	_, _ = server.Write(head)
	_, _ = io.CopyN(server, client, int64(binary.BigEndian.Uint32(head))-4)
	done := make(chan struct{}, 2)
	go func() { s.pass(server, client); done <- struct{}{} }()
	go func() { s.pass(client, server); done <- struct{}{} }()
	<-done
}

// pass passes messages on until one is cut or an end is reached.
func (s *scissors) pass(to io.Writer, from io.Reader) {
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		message := append(append([]byte{}, head...), body...)
		if s.counting.Load() {
			if at := s.seen.Add(1); at == s.cutAt.Load() {
				s.cuts.Add(1)
				_, _ = to.Write(message[:len(message)/2])
				return
			}
		}
		if _, err := to.Write(message); err != nil {
			return
		}
	}
}

// TestPostgresCutAnywhere cuts the connection in each message that an append takes, there and back,
// COMMIT and its answer among them, and appends again: every entry is there once.
func TestPostgresCutAnywhere(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, _ := server.Database(t)
	proxy := newScissors(t, server)
	n, err := claim(t.Context(), openLedger(t, newRuntime(t), proxy.dsn(name)), "run", "id")
	if err != nil {
		t.Fatal(err)
	}
	write := func() {
		t.Helper()
		if err := n.append(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	write() // statements are prepared from now on
	write()
	proxy.counting.Store(true)
	write()
	messages := proxy.seen.Load()
	if messages < 20 {
		t.Fatalf("an append took %d messages", messages)
	}
	for cut := int64(1); cut <= messages; cut++ {
		proxy.cutAt.Store(0)
		write() // on a connection that knows the statements
		proxy.seen.Store(0)
		proxy.cutAt.Store(cut)
		write()
	}
	proxy.counting.Store(false)
	if err := n.check(t.Context()); err != nil {
		t.Error(err)
	}
	if cuts := proxy.cuts.Load(); cuts < messages-2 {
		t.Errorf("%d cuts in %d messages", cuts, messages)
	}
	t.Logf("%d messages, %d cuts", messages, proxy.cuts.Load())
}

// TestPostgresRestarted crashes the server in the middle of a load, and starts it again: the hosts go
// on by themselves.
func TestPostgresRestarted(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{})
	_, dsn := server.Database(t)
	l := openLedger(t, newRuntime(t), dsn)
	drivers := make([]*numbered, 3)
	var acknowledged atomic.Int64
	var group sync.WaitGroup
	stop := make(chan struct{})
	for i := range drivers {
		n, err := claim(t.Context(), l, "run", fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		drivers[i] = n
		group.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := n.append(t.Context(), 1+round%20); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	progress := func(appends int64) {
		for target := acknowledged.Load() + appends; acknowledged.Load() < target && !t.Failed(); {
			pause()
		}
	}
	for range 2 {
		progress(50)
		server.Down(t)
		server.Up(t)
	}
	progress(50)
	close(stop)
	group.Wait()
	for _, n := range drivers {
		if err := n.check(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestPostgresComesUpLater opens a ledger whose server does not run yet.
func TestPostgresComesUpLater(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{})
	_, dsn := server.Database(t)
	server.Down(t)
	l := openLedger(t, newRuntime(t), dsn)
	for range 2 {
		if _, err := l.ListEnvironments(t.Context()); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "can't be reached") {
			t.Errorf("a server that is down: %v", err)
		}
	}
	server.Up(t)
	if _, err := l.ListEnvironments(t.Context()); err != nil {
		t.Errorf("after it came up: %v", err)
	}
}

// TestPostgresStandby reads a ledger from a hot standby, which takes no writes.
func TestPostgresStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.New(t, pgtest.Options{})
	name, dsn := primary.Database(t)
	rt := newRuntime(t)
	n, err := claim(t.Context(), openLedger(t, rt, dsn), "run", "id")
	if err == nil {
		err = n.append(t.Context(), 5)
	}
	if err != nil {
		t.Fatal(err)
	}
	standby := primary.Standby(t)
	n.l = openLedger(t, rt, standby.DSN(pgtest.Role, name))
	if err := n.check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := n.l.OpenLedger(t.Context(), n.key); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "accepts no writes (it is a standby, or read-only)") {
		t.Errorf("claiming on a standby: %v", err)
	}
	// An append that is under way can't be seen there, and would be stepped over for good.
	page, err := n.l.ReadAll(t.Context(), store.ReadOptions{Last: 3})
	if err != nil || len(page.Entries) != 3 {
		t.Errorf("the last entries of a standby: %+v, %v", page, err)
	}
	for _, opts := range []store.ReadOptions{{}, {Cursor: page.Cursor}} {
		if _, err := n.l.ReadAll(t.Context(), opts); !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), "follow the primary") {
			t.Errorf("following a standby: %v", err)
		}
	}
	// A ledger that isn't there yet can't be made.
	_, empty := primary.Database(t)
	other, err := pgx.ParseConfig(empty)
	if err != nil {
		t.Fatal(err)
	}
	primary.Exec(t, "SELECT pg_switch_wal()")
	for {
		_, err := openLedger(t, rt, standby.DSN(pgtest.Role, other.Database)).ListEnvironments(t.Context())
		if err != nil && strings.Contains(err.Error(), "does not exist") {
			pause() // it has not arrived there
			continue
		}
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "accepts no writes") {
			t.Errorf("an empty standby: %v", err)
		}
		return
	}
}

// TestPostgresRights uses roles that lack something.
func TestPostgresRights(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	admin := server.Conn(t, name)
	if _, err := admin.Exec(t.Context(), "CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN"); err != nil {
		t.Fatal(err)
	}
	rt := newRuntime(t)
	// Nothing may be made here.
	_, err := openLedger(t, rt, server.DSN("stranger", name)).ListEnvironments(t.Context())
	if err == nil || !strings.Contains(err.Error(), "permission denied for schema public") {
		t.Errorf("a role without rights: %v", err)
	}
	n, err := claim(t.Context(), openLedger(t, rt, dsn), "run", "id")
	if err == nil {
		err = n.append(t.Context(), 3)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"); err != nil {
		t.Fatal(err)
	}
	n.l = openLedger(t, rt, server.DSN("reader", name))
	if err := n.check(t.Context()); err != nil {
		t.Errorf("a role that may read: %v", err)
	}
	if _, err := n.l.OpenLedger(t.Context(), n.key); err == nil || !strings.Contains(err.Error(), "permission denied for table alineo_host_heads") {
		t.Errorf("claiming as a reader: %v", err)
	}
	_, err = openLedger(t, rt, server.DSN("stranger", name)).ListEnvironments(t.Context())
	if err == nil || !strings.Contains(err.Error(), "permission denied for table") {
		t.Errorf("a role without rights on the tables: %v", err)
	}
}

// TestPostgresPayloads keeps values that JSONB is particular about.
func TestPostgresPayloads(t *testing.T) {
	t.Parallel()
	_, dsn := pgtest.Server(t).Database(t)
	n, err := claim(t.Context(), openLedger(t, newRuntime(t), dsn), "run", "id")
	if err != nil {
		t.Fatal(err)
	}
	huge := `{"text":"` + strings.Repeat("64 MiB of it. ", 64<<20/14) + `"}`
	payloads := []string{
		`{"text":"a\u0000b"}`, `"\u0000"`, `{"\u0000":1}`, `{"$nul":1,"a":"\u0000␀"}`, `{"$nul":2,"value":"␀"}`, `"\\u0000"`,
		`12345678901234567890`, `-9007199254740993`, `1e2`, `0.1`, `1.0`, `5e-324`, `1.7976931348623157e308`, `-0.0`,
		`"\ud83d\ude00 \u00e9 \u2028"`, `{"":{"":[]}}`, `null`, `true`, `[]`, `""`, strings.Repeat("[", 500) + strings.Repeat("]", 500), huge,
	}
	for i, payload := range payloads {
		s := n.segment(1, "")
		s.Entries[0].Payload = json.RawMessage(payload)
		if err := n.l.Append(t.Context(), &store.Batch{Segments: []store.Segment{s}}); err != nil {
			t.Fatalf("payload %d, %.40s: %v", i, payload, err)
		}
		n.accept(&s)
	}
	var opts store.ReadOptions
	for got := 0; got < len(payloads); {
		page, err := n.l.Read(t.Context(), n.key, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Entries {
			var have, want any
			if err := errors.Join(json.Unmarshal(page.Entries[i].Payload, &have), json.Unmarshal([]byte(payloads[got]), &want)); err != nil || !reflect.DeepEqual(have, want) {
				t.Errorf("%.60s came back as %.60s, %v", payloads[got], page.Entries[i].Payload, err)
			}
			got++
		}
		if opts.Cursor = page.Cursor; !page.More && got < len(payloads) {
			t.Fatalf("%d entries", got)
		}
	}
	for _, wrong := range []string{`{`, `"\ud800"`, "\"\xff\"", strings.Repeat("[", 1_000_000)} {
		s := n.segment(2, "")
		s.Entries[1].Payload = json.RawMessage(wrong)
		err := n.l.Append(t.Context(), &store.Batch{Segments: []store.Segment{s}})
		var at *store.SegmentError
		if !errors.Is(err, store.ErrInvalid) || !errors.As(err, &at) || at.Entry != 1 {
			t.Errorf("%.20s: %v, want invalid at entry 1", wrong, err)
		}
	}
	if err := n.append(t.Context(), 1); err != nil {
		t.Errorf("after refused entries: %v", err)
	}
}

// TestPostgresCallEnds ends the call of a claim that waits for another session's lock.
func TestPostgresCallEnds(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	name, dsn := server.Database(t)
	n, err := claim(t.Context(), openLedger(t, newRuntime(t), dsn), "run", "id")
	if err != nil {
		t.Fatal(err)
	}
	other, admin := server.Conn(t, name), server.Conn(t, name)
	if _, err := other.Exec(t.Context(), "BEGIN; SELECT 1 FROM alineo_host_heads FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := n.l.OpenLedger(ctx, n.key)
		ended <- err
	}()
	waiting := func() (count int) {
		if err := admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&count); err != nil {
			t.Fatal(err)
		}
		return count
	}
	for waiting() == 0 {
		pause()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled claim: %v", err)
	}
	for waiting() != 0 { // the server heard of it
		pause()
	}
	if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := n.append(t.Context(), 3); err != nil {
		t.Errorf("the claim before still holds: %v", err)
	}
}
