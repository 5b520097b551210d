package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/net/dns/dnsmessage"
)

// world makes a server for api.example.com and all others of that domain, which tells what it was sent, and
// lets the engine of alineo.toml find and trust it. $WORLD is its address.
func world(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: world")
	}
	var l net.Listener
	var ip string
	for range 20 {
		ip = fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(128), rand.IntN(256), 1+rand.IntN(254)) //nolint:gosec // no secret
		var err error
		if l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", ip+":443"); err == nil {
			break
		}
	}
	if l == nil {
		ts.Fatalf("no loopback address has port 443 left")
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(tell))
	ts.Check(server.Listener.Close())
	server.Listener = l
	server.StartTLS()
	ts.Defer(server.Close)
	names, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", ip+":0")
	ts.Check(err)
	ts.Defer(func() { _ = names.Close() })
	go answerNames(names, netip.MustParseAddr(ip))

	ca := ts.MkAbs("world.pem")
	ts.Check(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	config := ts.MkAbs("alineo.toml")
	before, err := os.ReadFile(config)
	ts.Check(err)
	engine := fmt.Sprintf("[engine]\nnameserver = %q\nca = %q\n", names.LocalAddr(), ca)
	ts.Check(os.WriteFile(config, []byte(strings.Replace(string(before), "[engine]\n", engine, 1)), 0o600))
	ts.Setenv("WORLD", ip)
}

func tell(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("X-Api-Key")
	switch {
	case key == "":
		_, _ = io.WriteString(w, "you sent nothing\n")
	case r.URL.Path == "/v1/quiet":
	case r.URL.Path == "/v1/none":
		http.NotFound(w, r)
	case r.URL.Path == "/v1/length":
		_, _ = fmt.Fprintf(w, "you sent %d bytes\n", len(key))
	default:
		_, _ = fmt.Fprintf(w, "you sent %s\n", key)
	}
}

// answerNames answers every question for a name below example.com with an address.
func answerNames(c net.PacketConn, ip netip.Addr) {
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
		case !strings.HasSuffix(q.Name.String(), ".example.com."):
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: ip.As4()},
			}}
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = c.WriteTo(reply, from)
		}
	}
}

// TestPipedSecretEnds: whoever is to give a value and never ends keeps nobody who has given up.
func TestPipedSecretEnds(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	t.Cleanup(func() { _ = to.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := pipedSecret(ctx, from)
		done <- err
	}()
	if _, err := io.WriteString(to, "half a val"); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-done:
		if err == nil {
			t.Error("half a value is taken for one")
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}
