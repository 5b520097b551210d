package host_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/internal/testcache"
)

// A child is this test binary again, as one more host process on the same ledger. What it does is in
// childMode: "hold" keeps others from writing until its standard input ends, "load" appends until it is killed and says what was acknowledged, "write" appends some
// events, "fenced" opens a sandbox, waits for a line on its standard input, and appends, "claims"
// claims a run again and again and prints the epochs, "driver" drives a run, waits for a line, and goes on.
const (
	childMode    = "ALINEO_TEST_CHILD"
	childConfig  = "ALINEO_TEST_CHILD_CONFIG"
	childRound   = "ALINEO_TEST_CHILD_ROUND"
	childSandbox = "ALINEO_TEST_CHILD_SANDBOX"
)

func TestMain(m *testing.M) {
	host.Init()
	if mode := os.Getenv(childMode); mode != "" {
		if err := child(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

// What the load of a child is made of.
const (
	loadSandboxes = 4
	loadWriters   = 8
	loadWindow    = 4 // entries of a writer that may wait for their commit
	writeEvents   = 50
)

func sandboxKey(i int) store.Key {
	return store.Key{Name: "chaos", SandboxID: fmt.Sprintf("00000000-0000-4000-8000-%012d", i)}
}

// mark is the payload of an event: the nth of a writer in a round.
type mark struct {
	Round  int `json:"round"`
	Writer int `json:"writer"`
	N      int `json:"n"`
	Pad    string
}

func child(mode string) error {
	ctx := context.Background()
	if mode == "hold" {
		return hold(ctx)
	}
	cfg, err := host.LoadConfig(os.Getenv(childConfig))
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	switch mode {
	case "load":
		err = load(ctx, h)
	case "write":
		err = write(ctx, h)
	case "fenced":
		err = fenced(ctx, h)
	case "claims":
		err = claims(ctx, h)
	case "driver":
		err = drive(ctx, h)
	default:
		err = fmt.Errorf("no mode %q", mode)
	}
	if closeErr := h.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

// load appends for ever. An acknowledgement is one write of one line: a killed process leaves no half.
func load(ctx context.Context, h *host.Host) error {
	round, err := strconv.Atoi(os.Getenv(childRound))
	if err != nil {
		return err
	}
	var streams [loadSandboxes]*ledger.Stream
	for i := range streams {
		if streams[i], err = h.Writer().Open(ctx, sandboxKey(i)); err != nil {
			return err
		}
	}
	failed := make(chan error, loadWriters)
	for w := range loadWriters {
		go func() {
			s := streams[w%loadSandboxes]
			var waiting []*ledger.Ticket
			for n := 0; ; n++ {
				payload, err := json.Marshal(mark{Round: round, Writer: w, N: n, Pad: strings.Repeat("x", 10*(n%50))})
				if err == nil {
					var ticket *ledger.Ticket
					ticket, err = s.Enqueue(ctx, ledger.Event{Step: int64(w), Name: "chaos.mark", Payload: payload})
					waiting = append(waiting, ticket)
				}
				if err == nil && len(waiting) == loadWindow {
					err = waiting[0].Wait(ctx)
					waiting = waiting[1:]
					if err == nil {
						_, err = fmt.Printf("ack %d %d\n", w, n-loadWindow+1)
					}
				}
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

func write(ctx context.Context, h *host.Host) error {
	i, err := strconv.Atoi(os.Getenv(childSandbox))
	if err != nil {
		return err
	}
	s, err := h.Writer().Open(ctx, sandboxKey(i))
	if err != nil {
		return err
	}
	for n := range writeEvents {
		payload, err := json.Marshal(mark{Writer: i, N: n})
		if err != nil {
			return err
		}
		if err := s.Append(ctx, ledger.Event{Step: -1, Name: "chaos.mark", Payload: payload}); err != nil {
			return err
		}
	}
	return nil
}

func fenced(ctx context.Context, h *host.Host) error {
	s, err := h.Writer().Open(ctx, sandboxKey(0))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return s.Append(ctx, ledger.Event{Step: -1, Name: "chaos.late"})
}

// hold writes to the ledger's file as any program may, and does not come to an end.
func hold(ctx context.Context) error {
	db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(os.Getenv(childConfig)), "ledger.db"))
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	for _, s := range []string{"BEGIN IMMEDIATE", "CREATE TABLE other (a)"} {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	fmt.Println("holds")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// site is a folder with a configuration and a ledger, for several hosts.
type site struct {
	dir, config, ledger string
}

func newSite(tb testing.TB) site {
	tb.Helper()
	return siteIn(tb, tb.TempDir())
}

// siteIn is newSite in a folder.
func siteIn(tb testing.TB, dir string) site {
	tb.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	s := site{dir: dir, config: filepath.Join(dir, "alineo.toml"), ledger: filepath.Join(dir, "ledger.db")}
	text := "[plugins.sqlite.config]\npath = \"ledger.db\"\n[plugins.sqlite.limits]\ndeadline = \"1m\"\nstart_deadline = \"1m\"\n[log]\nlevel = \"error\"\n"
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return s
}

// command returns a child that was not started yet.
func (s site) command(tb testing.TB, mode string, env ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0])
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), childMode+"="+mode, childConfig+"="+s.config, "XDG_CACHE_HOME="+testcache.Home())
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// tailOf keeps what a process wrote last.
type tailOf struct {
	mu   sync.Mutex
	text string
}

func (t *tailOf) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += string(p)
	t.text = t.text[max(0, len(t.text)-2000):]
	return len(p), nil
}

func (t *tailOf) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text
}

var _ io.Writer = (*tailOf)(nil)

// chaosRounds is how often a chaos test goes round.
type chaosRounds struct {
	n   int
	all bool // however long it takes
}

// rounds is ALINEO_CHAOS_ROUNDS, or as many of few as there is time for.
func rounds(few int) chaosRounds {
	if n, err := strconv.Atoi(os.Getenv("ALINEO_CHAOS_ROUNDS")); err == nil && n > 0 {
		return chaosRounds{n, true}
	}
	return chaosRounds{few, false}
}

// soon is a random time of at most d.
func soon(random func(int64) int64, d time.Duration) time.Duration {
	return time.Duration(random(int64(d) + 1))
}

// appendMarks opens a sandbox and appends marks to it, each as large as a commit's page or two.
func appendMarks(ctx context.Context, h *host.Host, i, n int) error {
	stream, err := h.Writer().Open(ctx, sandboxKey(i))
	if err != nil {
		return err
	}
	for n := range n {
		if err := stream.Append(ctx, chaosMark(mark{Writer: i, N: n, Pad: strings.Repeat("x", 3000)})); err != nil {
			return err
		}
	}
	return nil
}

func chaosMark(m mark) ledger.Event {
	payload, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return ledger.Event{Step: int64(m.Writer), Name: "chaos.mark", Payload: payload}
}

// auditAll checks that a ledger has so many marks of each writer, no more and no less, and a whole chain.
func auditAll(t *testing.T, s site, next [loadSandboxes]int) {
	t.Helper()
	a := newAuditor()
	a.audit(t, s.ledger)
	for i, n := range next {
		if got := a.next[[2]int{0, i}]; got != n {
			t.Errorf("writer %d: %d were acknowledged, the file has %d", i, n, got)
		}
	}
}
