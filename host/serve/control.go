package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// ControlOptions say what those who operate a daemon can ask it, and where: on a unix socket that nobody
// else can open, so that no token is needed.
type ControlOptions struct {
	// Dir is where the socket is made, the data directory.
	Dir string
	// Version is the host's, and Config the file that it was opened from; empty: none.
	Version, Config string
	// Plugins tells of the plugins that are loaded.
	Plugins func() []Plugin
	// Reload loads one anew. Its error may be a *ControlError; any other is CodeInternal.
	Reload func(ctx context.Context, name string) (Plugin, error)
}

// Plugin is how one plugin of a daemon is. What is counted is counted since LoadedAt.
type Plugin struct {
	Name        string        `json:"name"`
	GuestName   string        `json:"guestName"` // in its manifest
	Version     string        `json:"version"`
	SHA256      string        `json:"sha256"`
	State       string        `json:"state"`             // none, volatile or exclusive
	Status      string        `json:"status"`            // PluginReady …
	Retry       time.Duration `json:"retryNs,omitempty"` // of PluginFailed: when it is tried again; 0: never
	LoadedAt    time.Time     `json:"loadedAt"`
	Calls       uint64        `json:"calls"`
	Errors      uint64        `json:"errors"` // calls that ended in one, the guest's own included
	Crashes     uint64        `json:"crashes"`
	P50         time.Duration `json:"p50Ns"` // of calls, without waiting for an instance
	P99         time.Duration `json:"p99Ns"`
	Instances   int           `json:"instances"`
	Waiting     int           `json:"waiting"`     // calls that wait for one
	MemoryBytes int64         `json:"memoryBytes"` // of all instances
	LastError   string        `json:"lastError,omitempty"`
	LastErrorAt *time.Time    `json:"lastErrorAt,omitempty"`
}

// Words of Plugin.Status.
const (
	PluginReady  = "ready"
	PluginFailed = "failed" // it crashed too often, or lost its state
	PluginLost   = "lost"   // a reload failed, and so did going back
)

// Daemon is who answers on a control socket.
type Daemon struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Config  string    `json:"config,omitempty"`
	Address string    `json:"address"` // that it serves runs on
	Since   time.Time `json:"since"`
}

// ControlStatus is a daemon and its plugins.
type ControlStatus struct {
	Daemon  Daemon   `json:"daemon"`
	Plugins []Plugin `json:"plugins"`
}

// ControlError is what a daemon answers in the place of what it was asked for.
type ControlError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is the message.
func (e *ControlError) Error() string { return e.Message }

// Words of ControlError.Code.
const (
	CodeUnknownPlugin = "unknown_plugin"
	CodeNotLoaded     = "not_loaded"
	CodeNotReloaded   = "not_reloaded" // the plugin works as before
	CodePluginLost    = "plugin_lost"
	CodeInternal      = "internal"
)

func (e *ControlError) status() int {
	switch e.Code {
	case CodeUnknownPlugin:
		return http.StatusNotFound
	case CodeNotLoaded, CodeNotReloaded:
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// Names of files in the data directory.
const (
	controlSocket = "serve.sock"
	controlLock   = "serve.lock"
)

// errHeld is a control socket that another daemon has.
var errHeld = errors.New("another daemon that uses this data directory has the control socket")

// control answers on a control socket.
type control struct {
	opts   ControlOptions
	log    hclog.Logger
	daemon Daemon
	lock   *os.File
	socket string
	server *http.Server
	ended  chan struct{}
}

// reloadWithin bounds a reload, whoever waits for it.
const reloadWithin = 2 * time.Minute

// listenControl makes the socket and answers there until close.
func listenControl(opts ControlOptions, log hclog.Logger, address string) (*control, error) {
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(opts.Dir, controlLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the control socket: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errHeld
		}
		return nil, fmt.Errorf("locking the control socket: %w", err)
	}
	c := &control{
		opts: opts, log: log, lock: lock, socket: filepath.Join(opts.Dir, controlSocket), ended: make(chan struct{}),
		daemon: Daemon{PID: os.Getpid(), Version: opts.Version, Config: opts.Config, Address: address, Since: time.Now()},
	}
	l, err := unixsock.Listen(c.socket)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/plugins", c.answer(c.status))
	mux.HandleFunc("POST /v1/plugins/{name}/reload", c.answer(c.reload))
	const headerWithin = 30 * time.Second
	c.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: headerWithin,
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	go func() {
		defer close(c.ended)
		_ = c.server.Serve(unixsock.Own(l, c.turned)) // ends with the listener
	}()
	return c, nil
}

func (c *control) turned(uid int, err error) {
	c.log.Warn("somebody else was turned away from the control socket", "uid", uid, "err", err)
}

// close lets nobody in any more and waits for who is.
func (c *control) close(ctx context.Context) {
	if err := c.server.Shutdown(ctx); err != nil {
		c.log.Warn("who asked on the control socket was cut off", "op", "drain", "err", err)
		_ = c.server.Close()
	}
	<-c.ended
	_ = os.Remove(c.socket) // ours as long as we hold the lock
	_ = c.lock.Close()
}

// answer writes what was asked for, or a ControlError.
func (c *control) answer(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := handle(r)
		code := http.StatusOK
		if err != nil {
			known, ok := errors.AsType[*ControlError](err)
			if !ok {
				known = &ControlError{Code: CodeInternal, Message: err.Error()}
			}
			v, code = known, known.status()
		}
		if err := writeJSON(w, code, v); err != nil {
			c.log.Debug("an answer was cut off", "op", r.Pattern, "err", err)
		}
	}
}

func (c *control) status(*http.Request) (any, error) {
	return ControlStatus{Daemon: c.daemon, Plugins: c.opts.Plugins()}, nil
}

func (c *control) reload(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), reloadWithin)
	defer cancel()
	return c.opts.Reload(ctx, r.PathValue("name"))
}
