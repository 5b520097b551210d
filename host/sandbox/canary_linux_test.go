package sandbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/internal/nativebroker"
	"github.com/alineo-labs/alineo-host/internal/nativeledger"
)

// outside is what the canaries' sandbox reaches: a server under three names.
type outside struct {
	ip, dns string
	mu      sync.Mutex
	seen    map[string]string // the last header that came, by host
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{seen: make(map[string]string)}
	var l net.Listener
	for {
		var b [3]byte
		_, _ = rand.Read(b[:])
		o.ip = fmt.Sprintf("127.%d.%d.%d", 64+b[0]%128, b[1], 1+b[2]%254)
		var err error
		l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", o.ip+":80")
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Skipf("LEFT OUT: this user may not listen on port 80, for which credentials are: %v", err)
		}
		break
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.seen[r.Host] = r.Header.Get("X-Api-Key")
		o.mu.Unlock()
		w.Header().Set("X-Echo", r.Header.Get("X-Api-Key"))
		_, _ = fmt.Fprintf(w, "you sent %s\n", r.Header.Get("X-Api-Key"))
	})}
	go func() { _ = server.Serve(l) }()
	c, err := net.ListenPacket("udp", o.ip+":0") //nolint:noctx // it lives as long as the test
	must(t, err)
	o.dns = c.LocalAddr().String()
	go o.names(c)
	t.Cleanup(func() { _, _ = server.Close(), c.Close() })
	return o
}

// names answers every question below canary.test with the server's address.
func (o *outside) names(c net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.Additionals = true, nil
		switch {
		case !strings.HasSuffix(q.Name.String(), ".canary.test."):
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: netip.MustParseAddr(o.ip).As4()},
			}}
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = c.WriteTo(reply, from)
		}
	}
}

func (o *outside) saw(host string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen[host]
}

// leftNowhere looks for the values in everything that could have kept one: files below folders, and the
// arguments and environments of all processes.
func leftNowhere(t *testing.T, when string, values []string, folders ...string) {
	t.Helper()
	look := func(what string, data []byte) {
		for i, value := range values {
			for _, trace := range traces(value) {
				if bytes.Contains(data, []byte(trace)) {
					t.Errorf("%s: value %d is in %s as %q", when, i, what, trace)
				}
			}
		}
	}
	files := 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint:nilerr // what is gone can't have one
			}
			data, err := os.ReadFile(path)
			if err == nil {
				files++
				look(path, data)
			}
			return nil
		})
		must(t, err)
	}
	if files == 0 {
		t.Errorf("%s: there are no files", when)
	}
	for _, kind := range []string{"cmdline", "environ"} {
		processes, err := filepath.Glob("/proc/[0-9]*/" + kind)
		must(t, err)
		for _, path := range processes {
			if data, err := os.ReadFile(path); err == nil {
				look(path, data)
			}
		}
	}
}

// TestCanary gives values through every door and uses them. Then they are where they are used, and
// nowhere else.
func TestCanary(t *testing.T) {
	t.Parallel()
	world := newOutside(t)
	dir, err := os.MkdirTemp("", "canary-") //nolint:usetesting // sockets need a short path
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	log := &safeBuffer{}
	logger := hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Trace})
	eng, err := engine.Open(t.Context(), engine.Options{DataDir: filepath.Join(dir, "engine"), AllowReduced: true, Nameserver: world.dns, Logger: logger})
	must(t, err)
	t.Cleanup(func() { _ = eng.Close(context.Background()) })
	wire, err := opensandbox.New(opensandbox.Options{BaseURL: eng.BaseURL(), Transport: eng.Transport()})
	must(t, err)
	st, err := nativeledger.Open(filepath.Join(dir, "ledger.db"), nativeledger.Options{})
	must(t, err)
	t.Cleanup(func() { _ = st.Close(context.Background()) })
	writer := ledger.NewWriter(st, ledger.WriterOptions{Logger: logger})
	t.Cleanup(func() { _ = writer.Close(context.Background()) })

	values := make([]string, 3)
	for i := range values {
		var b [12]byte
		_, _ = rand.Read(b[:])
		values[i] = "key/" + hex.EncodeToString(b[:]) + "+=" // with what encodings change
	}
	env := map[string]string{"CANARY": values[1]}
	client, err := sandbox.New(sandbox.Options{
		Wire: wire, Store: st, Ledger: writer, Image: "host", Resources: sandbox.Resources{CPU: "1", Memory: "256Mi"}, Logger: logger,
		Broker:    nativebroker.New(nativebroker.Options{Known: map[string]string{"table:canary": values[2]}}),
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	must(t, err)

	hosts := []string{"set.canary.test", "env.canary.test", "broker.canary.test"}
	policy := locked(append([]string{world.ip}, hosts...)...)
	h, err := client.Create(t.Context(), sandbox.CreateOptions{NetworkPolicy: policy, CredentialProxy: true})
	if errors.Is(err, opensandbox.ErrUnsupported) {
		t.Skipf("LEFT OUT: this machine's engine keeps no network from a sandbox: %v", err)
	}
	must(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	sources := []*credential.Source{nil, credential.Env("CANARY"), credential.External("table:canary")}
	var said strings.Builder // what anybody got to see
	for i, host := range hosts {
		binding := credential.Header(host, "", "X-Api-Key")
		binding.Schemes, binding.Ports = []string{"http"}, []int{80}
		must(t, h.Credentials().Set(t.Context(), fmt.Sprintf("c%d", i), credential.NewSecret(values[i]), binding, sources[i]))
	}
	use := func(h *sandbox.Handle) {
		for i, host := range hosts {
			result, err := h.Run(t.Context(), "curl -sS -i http://"+host+"/ || python3 -c 'import urllib.request; r = urllib.request.urlopen(\"http://"+host+"/\"); print(r.headers, r.read())'", sandbox.ExecOptions{})
			must(t, err)
			said.WriteString(result.Stdout + result.Stderr)
			if got := world.saw(host); got != values[i] {
				t.Errorf("%s saw %q, and the sandbox %s%s", host, got, result.Stdout, result.Stderr)
			}
		}
		// What somebody who has it another way prints, in the command, in its output and in errors.
		for _, command := range []string{
			"echo " + values[0] + " | tee /dev/null", "printf %s " + values[1] + " | base64", "cat /nowhere/" + values[2],
		} {
			_, err := h.Run(t.Context(), command, sandbox.ExecOptions{Strict: true})
			fmt.Fprintln(&said, err)
		}
		must(t, h.Emit(t.Context(), "agent.note", map[string]any{"values": values}))
		fmt.Fprintln(&said, h.Credentials().Set(t.Context(), "x"+values[0], credential.NewSecret(values[0]), credential.Bearer(hosts[0]), nil))
		fmt.Fprintln(&said, h.Credentials().Set(t.Context(), "x", credential.NewSecret(values[0]), credential.Bearer("other.canary.test"), nil))
		result, err := h.Run(t.Context(), "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; true", sandbox.ExecOptions{})
		must(t, err)
		said.WriteString(result.Stdout)
		list, err := h.Credentials().ListBindings(t.Context())
		fmt.Fprintf(&said, "%+v %v\n", list, err)
	}
	use(h)
	leftNowhere(t, "while it runs", values, dir)
	_, err = h.Checkpoint(t.Context(), "c")
	must(t, err)
	fork, err := h.Fork(t.Context(), sandbox.ForkOptions{ResolveCredential: func(context.Context, string, credential.Source) (credential.Secret, error) {
		return credential.NewSecret(values[0]), nil
	}})
	must(t, err)
	t.Cleanup(func() { _ = fork.Close(context.Background()) })
	use(fork)
	_, err = client.Resume(t.Context(), h.ID(), sandbox.ResumeOptions{})
	fmt.Fprintln(&said, err) // nobody knows the first value
	must(t, fork.Close(t.Context()))
	must(t, h.Close(t.Context()))
	leftNowhere(t, "in the end", values, dir)
	for i, value := range values {
		hasNo(t, fmt.Sprintf("value %d: what was seen", i), said.String(), value)
		hasNo(t, fmt.Sprintf("value %d: the log", i), log.String(), value)
	}
	if !strings.Contains(said.String(), credential.Redacted) {
		t.Errorf("nothing was redacted in %s", said.String())
	}
}
