//go:build unix

package guest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/alineo-labs/alineo-host/host/internal/engine/egress"
	"github.com/alineo-labs/alineo-host/host/internal/engine/execd"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
	"github.com/alineo-labs/alineo-host/host/internal/engine/trust"
)

// Main runs the init and never returns. main calls it first thing, on the
// main thread.
func Main() {
	runtime.LockOSThread() // the shim's death signal is tied to threads, and Enter wants one
	reexec.CloseInherited(ProgramFD)
	g := guest{control: os.NewFile(reexec.ControlFD, "control"), work: make(chan func()), replied: make(chan struct{})}
	g.in, g.out = json.NewDecoder(g.control), json.NewEncoder(g.control)
	l, err := g.enter()
	if err != nil {
		g.fail(err)
	}
	if g.config.Probe {
		if err := g.out.Encode(Reply{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	go func() {
		if err := g.serve(l); err != nil {
			g.fail(err)
		}
		g.follow()
		g.exit(0)
	}()
	for f := range g.work {
		f()
	}
}

func (g *guest) fail(err error) {
	var entry entryError
	r := Reply{Error: err.Error(), Entry: errors.As(err, &entry)}
	if err := g.out.Encode(r); err != nil {
		g.exit(2) // nobody is there to hear it
	}
	g.exit(1)
}

// onMain runs f on the main thread, the one that Enter has hardened all the
// way and that commands are therefore started from.
func (g *guest) onMain(f func()) {
	done := make(chan struct{})
	g.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

type guest struct {
	control *os.File
	in      *json.Decoder
	out     *json.Encoder
	config  Config
	table   *execd.Table
	user    *execd.User   // nil is root
	work    chan func()   // for the main thread
	replied chan struct{} // closed when the shim has been told of the start

	networked bool // the shim has the sockets of the way out
	meter     *execd.Meter
}

// entryError is the entry point's fault.
type entryError struct{ err error }

func (e entryError) Error() string { return e.err.Error() }

// enter reads the configuration and enters the jail.
func (g *guest) enter() (net.Listener, error) {
	if err := g.in.Decode(&g.config); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if g.config.Program {
		_ = syscall.Close(ProgramFD) // it runs already
	}
	var l net.Listener
	if !g.config.Probe {
		var err error
		if l, err = listener(); err != nil {
			return nil, err
		}
	}
	if !g.config.Probe {
		u := g.config.Usage
		g.meter = execd.OpenMeter(execd.Sources{CPU: u.CPU, Memory: u.Memory, Cache: u.Cache}, g.config.CPU, g.config.Memory)
	}
	if !g.config.Egress {
		return l, jail.Enter(&g.config.Jail, nil)
	}
	err := jail.Enter(&g.config.Jail, g.openNetwork)
	if err != nil && !g.networked {
		// The shim waits for sockets before it waits for a reply.
		err = errors.Join(err, (*egress.Sockets)(nil).Send(reexec.ControlFD))
	}
	return l, err
}

// openNetwork makes the way out and hands its sockets to the shim.
func (g *guest) openNetwork() error {
	if g.config.Trust != nil {
		var volumes []string
		for _, v := range g.config.Jail.Volumes {
			volumes = append(volumes, v.Target)
		}
		if err := trust.Install("/", *g.config.Trust, volumes); err != nil {
			return err
		}
	}
	s, err := egress.Open()
	if err != nil {
		return err
	}
	if err := s.Send(reexec.ControlFD); err != nil {
		return err
	}
	g.networked = true
	return nil
}

// serve starts the entry point and the server, and says so.
func (g *guest) serve(l net.Listener) error {
	// Any process in the sandbox may send us signals. Ignoring them would be
	// inherited by every command, so take them and drop them.
	ignored := make(chan os.Signal, 64)
	signal.Notify(ignored)
	go func() {
		for range ignored { //nolint:revive // dropping them is the point
		}
	}()
	g.table = execd.NewTable(g.onMain, func(pid int) { jail.Limit(&g.config.Jail, pid) })
	if err := g.findUser(); err != nil {
		return entryError{err}
	}
	dir, err := g.directory()
	if err != nil {
		return err
	}
	srv := execd.New(execd.Options{User: g.user, Env: g.config.Env, Dir: dir, Table: g.table, NoGroups: g.config.NoGroups, Meter: g.meter})
	g.answerForJupyter()
	if err := g.startEntry(dir); err != nil {
		return entryError{err}
	}
	go func() {
		_ = (&http.Server{Handler: srv}).Serve(l) //nolint:gosec // only the engine can connect; requests may last
		g.exit(1)
	}()
	err = g.out.Encode(Reply{})
	close(g.replied)
	return err
}

func listener() (net.Listener, error) {
	f := os.NewFile(ListenerFD, "execd")
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("taking the execd socket: %w", err)
	}
	return l, nil
}

// findUser finds whom processes run as, and their home.
func (g *guest) findUser() error {
	if g.config.User == "" {
		return nil
	}
	u, err := execd.FindUser(g.config.User)
	if err != nil {
		return err
	}
	if _, set := g.config.Env["HOME"]; !set {
		g.config.Env["HOME"] = cmp.Or(u.Home, "/")
	}
	if u.UID != 0 || u.GID != 0 {
		g.user = u
	}
	return nil
}

// directory is where commands start.
func (g *guest) directory() (string, error) {
	if g.config.Jail.Level == jail.Namespaces {
		at := g.config.WorkDir
		if at == "" {
			at = "/workspace"
			if err := g.user.Own(at); err != nil {
				return "", fmt.Errorf("giving the working directory away: %w", err)
			}
		} else if err := os.MkdirAll(at, 0o755); err != nil {
			return "", fmt.Errorf("making the working directory: %w", err)
		}
		if err := os.Chdir(at); err == nil {
			return at, nil
		}
		return "/", os.Chdir("/")
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	home := filepath.Dir(dir)
	for name, at := range map[string]string{
		"HOME": filepath.Join(home, "root"), "TMPDIR": filepath.Join(home, "tmp"), "EXECD_ENVS": filepath.Join(home, "root", ".opensandbox.env"),
	} {
		if _, set := g.config.Env[name]; !set {
			g.config.Env[name] = at
		}
	}
	return dir, nil
}

// startEntry starts the entry point; its end is ours.
func (g *guest) startEntry(dir string) error {
	argv := g.config.Entrypoint
	if len(argv) == 0 {
		return nil
	}
	path, err := lookPath(argv[0], g.config.Env["PATH"])
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	env := make([]string, 0, len(g.config.Env))
	for k, v := range g.config.Env {
		env = append(env, k+"="+v)
	}
	p, err := g.table.Start(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: []uintptr{null.Fd(), 1, 2}, Sys: &syscall.SysProcAttr{Credential: g.user.Credential()}})
	if err != nil {
		return err
	}
	go func() {
		<-p.Done
		<-g.replied // the shim hears of the start before the end
		if ws := p.Status(); ws.Signaled() {
			g.exit(128 + int(ws.Signal()))
		}
		g.exit(p.Status().ExitStatus())
	}()
	return nil
}

func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("entry point %q: %w", name, err)
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		p := filepath.Join(dir, name)
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("entry point %q: executable file not found in PATH", name)
}

// follow does what the shim says until it has gone.
func (g *guest) follow() {
	for {
		var op Operation
		if err := g.in.Decode(&op); err != nil {
			return
		}
		var r Reply
		switch op.Op {
		case Stop:
			g.signalAll(syscall.SIGSTOP)
			awaitStopped()
		case Continue:
			g.signalAll(syscall.SIGCONT)
		default:
			r.Error = fmt.Sprintf("unknown operation %q", op.Op)
		}
		if err := g.out.Encode(r); err != nil {
			return
		}
	}
}

// signalAll reaches every other process of the sandbox: in one step in a
// process namespace, else those that we know of.
func (g *guest) signalAll(sig syscall.Signal) {
	if os.Getpid() == 1 {
		_ = syscall.Kill(-1, sig) // there may be none
		return
	}
	if g.table == nil {
		return
	}
	for _, pgid := range g.table.Groups() {
		_ = syscall.Kill(-pgid, sig)
	}
	for _, pid := range descendants() {
		_ = syscall.Kill(pid, sig)
	}
}

func (g *guest) exit(code int) {
	if os.Getpid() != 1 {
		g.signalAll(syscall.SIGKILL)
	}
	os.Exit(code)
}
