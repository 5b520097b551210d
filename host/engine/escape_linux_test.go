package engine_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// TestEscape runs this binary in a sandbox, where it tries everything in attack_linux_test.go.
func TestEscape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		opts engine.Options
	}{{"with a user namespace", engine.Options{}}, {"without", engine.Options{NoUserNamespace: true}}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.opts.NoUserNamespace && ordinaryUser() {
				return // only root can do without
			}
			escape(t, c.opts)
		})
	}
}

func escape(t *testing.T, opts engine.Options) {
	t.Helper()
	tools := t.TempDir()
	program := filepath.Join(tools, "attack")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	opts.DataDir, opts.HostPaths = t.TempDir(), []string{tools}
	e := openEngine(t, opts)
	before := nodes(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := e.create(nil)
	if r := other.run("(sleep 300 & ) ; echo other > /workspace/other"); r.Code != "0" {
		t.Fatal(r)
	}
	var tcp []string
	tcp = append(tcp, serveAt(t, "127.0.0.1"), "169.254.169.254:80", "100.100.100.200:80", "[fd00:ec2::254]:80", "127.0.0.1:44772", "127.0.0.1:18080", "10.255.255.254:80")
	_, port, _ := net.SplitHostPort(tcp[0])
	tcp = append(tcp, "[::1]:"+port, "[::ffff:127.0.0.1]:"+port, "127.1.2.3:"+port, "0.0.0.0:"+port, "localhost:"+port)
	if own := outside(t); own != "" {
		tcp = append(tcp, own)
	}
	udp := []string{answerUDP(t, "127.0.0.1")}
	names := []string{"localhost.", "metadata.google.internal.", strings.Repeat(strings.Repeat("n", 62)+".", 4), "10.0.0.1."}
	if own := outside(t); own != "" {
		ip, _, _ := net.SplitHostPort(own)
		udp = append(udp, answerUDP(t, ip))
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name+".")
	}
	abstract, err := net.Listen("unix", "@alineo-escape-"+filepath.Base(filepath.Dir(e.dir)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = abstract.Close() }()
	box := e.create(map[string]any{
		"volumes": []any{volume("tools", tools, "/tools", "readOnly", true)},
		"env": map[string]string{
			attackEnv: "1", "ATTACK_PID": fmt.Sprint(os.Getpid()), "ATTACK_NAMESPACES": namespacesHere(t), "ATTACK_FILE": secret,
			"ATTACK_ENGINE": filepath.Join(e.dir, "engine.sock"), "ATTACK_TCP": strings.Join(tcp, " "), "ATTACK_UDP": strings.Join(udp, " "), "ATTACK_NAMES": strings.Join(names, " "),
			"ATTACK_UNIX": abstract.Addr().String() + " " + filepath.Join(e.dir, "engine.sock") + " " + filepath.Join(e.dir, "sandboxes", other.ID, "execd.sock"),
		},
	})
	out := box.must("/tools/attack")
	if !strings.HasSuffix(out, "done\n") {
		t.Errorf("it ended early: %s", out)
	}
	t.Logf("%s", out)
	for line := range strings.SplitSeq(out, "\n") {
		what, ok := strings.CutPrefix(line, "OPEN\t")
		if ok && (!opts.NoUserNamespace || what != "the machine's own user") {
			t.Errorf("got through: %s", what)
		}
	}
	if after := nodes(t); after != before {
		t.Errorf("the machine's devices were\n%sand are\n%s", before, after)
	}
	if got := box.must("echo alive"); got != "alive\n" {
		t.Errorf("afterwards: %q", got)
	}
}

// answerUDP answers every packet to an address of the machine's and returns it with its port.
func answerUDP(t *testing.T, ip string) string {
	t.Helper()
	c, err := net.ListenPacket("udp4", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		b := make([]byte, 16)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			t.Errorf("%q came from the sandbox to %s", b[:n], c.LocalAddr())
			_, _ = c.WriteTo(b[:n], from)
		}
	}()
	return c.LocalAddr().String()
}

// namespacesHere names this process's own.
func namespacesHere(t *testing.T) string {
	t.Helper()
	links, err := filepath.Glob("/proc/self/ns/*")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range links {
		if target, err := os.Readlink(l); err == nil {
			out = append(out, target)
		}
	}
	return strings.Join(out, " ")
}

// nodes tells how the machine's devices are that sandboxes share.
func nodes(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, n := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		st, err := os.Stat("/dev/" + n)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, n, st.Mode(), st.ModTime())
	}
	return out.String()
}

// copyProgram copies this test program to where a sandbox or another user can reach it.
func copyProgram(to string) error {
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}
