package egress

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// childEnv makes this test program the process inside a network namespace.
const childEnv = "ALINEO_EGRESS_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child opens the way out, hands its sockets on, and does what it is told: "ask NAME TYPE" or
// "say ADDRESS", a line each.
func child() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return err
	}
	started := time.Now()
	s, err := Open()
	if err != nil {
		return err
	}
	took := time.Since(started)
	if err := s.Send(3); err != nil {
		return err
	}
	fmt.Println("open", took)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		answer, err := do(verb, rest)
		line, _ := json.Marshal(map[string]any{"answer": answer, "error": fmt.Sprint(err)})
		fmt.Println(string(line))
	}
	return in.Err()
}

func do(verb, arg string) (string, error) {
	network := "udp"
	if verb == "ask-tcp" {
		network = "tcp"
	}
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, Nameserver+":53")
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	switch verb {
	case "ask", "ask-tcp":
		addrs, err := r.LookupNetIP(ctx, "ip4", arg)
		return fmt.Sprint(addrs), err
	case "say":
		c, err := (&net.Dialer{Resolver: r, Timeout: 10 * time.Second}).DialContext(ctx, "tcp4", arg)
		if err != nil {
			return "", err
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, "hello"); err != nil {
			return "", err
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			return "", err
		}
		b, err := io.ReadAll(c)
		return string(b), err
	case "udp":
		c, err := net.Dial("udp4", arg)
		if err != nil {
			return "", err
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "hello")
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		b := make([]byte, 100)
		n, err := c.Read(b)
		return string(b[:n]), err
	}
	return "", errors.ErrUnsupported
}

// inside is a process in a network namespace whose way out is a gateway.
type inside struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	g   *Gateway
}

// enter starts one, or leaves the test out where the kernel allows no namespace.
func enter(t *testing.T, opts Options) *inside {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer func() { _ = ours.Close() }()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env, cmd.ExtraFiles = []string{childEnv + "=1"}, []*os.File{theirs}
	var complaint strings.Builder
	cmd.Stderr = &complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	err = cmd.Start()
	_ = theirs.Close()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("LEFT OUT: no user namespaces here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	s, err := Receive(conn.(*net.UnixConn))
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("%v\n%s", err, complaint.String())
	}
	if opts.Local == nil {
		opts.Local = func(netip.Addr) bool { return false }
	}
	g, err := NewGateway(opts)
	if err != nil {
		t.Fatal(err)
	}
	stop, err := g.Serve(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
		stop()
	})
	i := &inside{t: t, in: in, out: bufio.NewReader(out), g: g}
	line, err := i.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, complaint.String())
	}
	t.Log(strings.TrimSpace(line))
	return i
}

// do has the process inside do something and returns what came of it, and the error as text.
func (i *inside) do(line string) (answer, problem string) {
	i.t.Helper()
	if _, err := fmt.Fprintln(i.in, line); err != nil {
		i.t.Fatal(err)
	}
	text, err := i.out.ReadString('\n')
	if err != nil {
		i.t.Fatal(err)
	}
	var r struct{ Answer, Error string }
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		i.t.Fatalf("%q: %v", text, err)
	}
	return r.Answer, r.Error
}

// echo is a server that answers with its name and what it was told.
func echo(t *testing.T, name string) (address, port string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				b, _ := io.ReadAll(c)
				_, _ = fmt.Fprintf(c, "%s heard %s", name, b)
			}()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return l.Addr().String(), port
}

// TestWayOut goes out of a real network namespace by name and by address, as the policy allows.
func TestWayOut(t *testing.T) {
	t.Parallel()
	_, port := echo(t, "server")
	p := &Policy{DefaultAction: Deny, Egress: []Rule{{Allow, "good.test"}, {Allow, "*.wild.test"}, {Allow, "10.9.8.0/24"}}}
	i := enter(t, Options{Policy: p, Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
		if name == "missing.wild.test" {
			return nil, &net.DNSError{IsNotFound: true}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	says := func(address, want string) {
		t.Helper()
		if got, problem := i.do("say " + address); got != want {
			t.Errorf("%s: %q %s, want %q", address, got, problem, want)
		}
	}
	says("good.test:"+port, "server heard hello")
	says("a.wild.test:"+port, "server heard hello")
	for _, name := range []string{"wild.test", "bad.test", "missing.wild.test"} {
		for _, verb := range []string{"ask ", "ask-tcp "} {
			if got, problem := i.do(verb + name); !strings.Contains(problem, "no such host") {
				t.Errorf("%s%s: %s %s", verb, name, got, problem)
			}
		}
	}
	good, problem := i.do("ask-tcp good.test")
	if !strings.HasPrefix(good, "[198.18.") {
		t.Errorf("good.test: %s %s", good, problem)
	}
	// Addresses: not the machine's loopback, not others, not what stands for nothing.
	for _, address := range []string{"93.184.216.34:" + port, "198.18.7.7:" + port, "169.254.169.254:80", "127.0.0.1:" + port} {
		if got, problem := i.do("say " + address); problem == "<nil>" {
			t.Errorf("%s was reached: %q", address, got)
		}
	}
	if got, problem := i.do("udp 93.184.216.34:443"); problem == "<nil>" {
		t.Errorf("UDP went out: %q", got)
	}
	// A change holds for the next connection, also to an address that was looked up before.
	address := strings.Trim(good, "[]") + ":" + port
	says(address, "server heard hello")
	if err := i.g.SetPolicy(Policy{DefaultAction: Deny}); err != nil {
		t.Fatal(err)
	}
	if got, problem := i.do("say " + address); problem == "<nil>" {
		t.Errorf("good.test was reached after it was denied: %q", got)
	}
	if err := i.g.SetPolicy(Policy{DefaultAction: Allow}); err != nil {
		t.Fatal(err)
	}
	says("bad.test:"+port, "server heard hello")
}
