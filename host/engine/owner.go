package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/lifecycle"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// owner is what the serving process has.
type owner struct {
	level   string
	lock    *os.File
	program *reexec.Image
	manager *lifecycle.Manager
	public  http.Handler // with the API key
	server  *http.Server
	socket  string
	counts  *requestMetrics
	served  chan struct{}
	conns   unusedConns
}

// holder is written into the lock file by the process that holds it.
type holder struct {
	Pid   int
	Level string
	Since time.Time
}

// heldError tells who holds the data directory.
type heldError struct {
	dir string
	by  holder
}

func (e *heldError) Error() string {
	if e.by.Pid == 0 {
		return fmt.Sprintf("data directory %s is held by another process", e.dir)
	}
	return fmt.Sprintf("data directory %s is held by process %d since %s", e.dir, e.by.Pid, e.by.Since.Format(time.RFC3339))
}

func newOwner(ctx context.Context, opts Options, socket string, counts *requestMetrics) (*owner, error) {
	lock, err := takeLock(opts.DataDir)
	if err != nil {
		return nil, err
	}
	o := &owner{lock: lock, socket: socket, counts: counts, served: make(chan struct{})}
	if err := o.start(ctx, opts); err != nil {
		o.release()
		return nil, err
	}
	return o, nil
}

// start finds out what is possible, takes over what is there, and serves.
func (o *owner) start(ctx context.Context, opts Options) (err error) {
	if o.program, err = reexec.Open(opts.InitPath); err != nil {
		return err
	}
	can, err := decide(ctx, opts, o.program)
	if err != nil {
		return err
	}
	o.level = string(can.level)
	o.manager, err = lifecycle.Open(ctx, lifecycle.Options{
		DataDir: opts.DataDir, Logger: opts.Logger, Program: o.program, Level: can.level, UserNamespace: can.userNamespace,
		Egress: can.level == jail.Namespaces && can.noEgress == "", Landlock: can.landlock >= jail.MinLandlock, Volatile: can.volatile, Copied: can.copied, Groups: can.groups, Images: opts.Images,
		HostPaths: opts.HostPaths, Disk: opts.disk(), Nameserver: opts.Nameserver, Roots: opts.Roots,
	})
	if err != nil {
		return err
	}
	if err := writeHolder(o.lock, holder{Pid: os.Getpid(), Level: o.level, Since: time.Now()}); err != nil {
		return err
	}
	o.public = lifecycle.Guard(opts.APIKey, lifecycle.NewServer(o.manager))
	l, err := unixsock.Listen(o.socket)
	if err != nil {
		return err
	}
	o.serve(l, opts.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}))
	if can.level != jail.Namespaces {
		opts.Logger.Warn("sandboxes run with less isolation than usual", "op", "open", "level", o.level, "err", can.why)
	}
	opts.Logger.Info("engine serves", "op", "open", "data", opts.DataDir, "level", o.level)
	return nil
}

func (o *owner) serve(l net.Listener, quiet *log.Logger) {
	// No timeouts on bodies: streams last as long as commands do.
	o.server = &http.Server{
		Handler: o.counts.wrap(lifecycle.NewServer(o.manager)), ReadHeaderTimeout: 30 * time.Second,
		ConnState: o.conns.note, ErrorLog: quiet,
	}
	go func() {
		defer close(o.served)
		_ = o.server.Serve(l) // ends with the listener
	}()
}

// close lets another process take over, then waits for requests.
func (o *owner) close(ctx context.Context) error {
	// Shutdown closes the listener at once and then waits: have it do the
	// first, and wait for what is being made beside it.
	down := make(chan error, 1)
	go func() { down <- o.server.Shutdown(ctx) }()
	<-o.served
	o.conns.close()
	err := o.manager.Settle(ctx)
	_ = os.Remove(o.socket) // ours as long as we hold the lock
	_ = o.lock.Close()
	o.lock = nil
	if serr := <-down; serr != nil {
		err = errors.Join(err, fmt.Errorf("requests were still under way: %w", serr), o.server.Close())
	}
	o.release()
	return err
}

func (o *owner) release() {
	if o.manager != nil {
		o.manager.Close()
	}
	if o.program != nil {
		_ = o.program.Close()
	}
	if o.lock != nil {
		_ = o.lock.Close()
	}
}

// takeLock locks the data directory or tells who has.
func takeLock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	held := &heldError{dir: dir}
	held.by, _ = readHolder(path) // it may not have written yet
	return nil, held
}

func writeHolder(f *os.File, h holder) error {
	b, err := json.Marshal(h)
	if err == nil {
		_, err = f.WriteAt(b, 0) // at once: others may read it
	}
	if err == nil {
		err = f.Truncate(int64(len(b)))
	}
	if err != nil {
		return fmt.Errorf("signing the data directory's lock: %w", err)
	}
	return nil
}

func readHolder(path string) (holder, error) {
	var h holder
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(b)).Decode(&h) // the end of an earlier one may still be there
	}
	if err != nil {
		return holder{}, fmt.Errorf("reading who holds the data directory: %w", err)
	}
	return h, nil
}
