package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// Proxy returns where a port of the sandbox is reached, and the headers that requests there need. It
// does not tell whether something listens.
func (h *Handle) Proxy(ctx context.Context, port int) (opensandbox.Endpoint, error) {
	const op = "finding port"
	if err := h.open(); err != nil {
		return opensandbox.Endpoint{}, h.fail(op, err)
	}
	endpoint, err := h.c.wire.Endpoint(ctx, h.id, port)
	if err != nil {
		return opensandbox.Endpoint{}, h.fail(op, err)
	}
	endpoint.Header = endpoint.Header.Clone()
	return endpoint, nil
}

// PortTransport sends HTTP requests to a port of the sandbox, whatever host they name. Connections
// that ask for an upgrade, such as WebSockets, go through, too.
//
//	client := http.Client{Transport: sb.PortTransport(3000)}
//	resp, err := client.Get("http://sandbox/health")
func (h *Handle) PortTransport(port int) http.RoundTripper { return h.c.wire.PortTransport(h.id, port) }

// DialPort opens a TCP connection to a port of the sandbox, where the server allows more than HTTP;
// elsewhere it is opensandbox.ErrUnsupported.
func (h *Handle) DialPort(ctx context.Context, port int) (net.Conn, error) {
	const op = "dialing port"
	if err := h.ready(); err != nil {
		return nil, h.fail(op, err)
	}
	conn, err := h.c.wire.DialPort(ctx, h.id, port)
	if err != nil {
		return nil, h.fail(op, err)
	}
	return conn, nil
}

// WaitForPort waits until something listens on a TCP port in the sandbox: until ctx ends, or for
// Options.ReadyTimeout when ctx has no deadline. Nothing is recorded.
func (h *Handle) WaitForPort(ctx context.Context, port int) error {
	const op = "waiting for port"
	const biggest = 1<<16 - 1
	if port < 1 || port > biggest {
		return h.fail(op, fmt.Errorf("%w: port %d", ErrInvalid, port))
	}
	if err := h.ready(); err != nil {
		return h.fail(op, err)
	}
	last := fmt.Errorf("port %d could not be looked at in time", port)
	return h.fail(op, h.await(ctx, &last, func() (bool, error) {
		listening, err := h.listens(ctx, port)
		switch {
		case err == nil:
			last = fmt.Errorf("nothing listens on port %d", port)
		case ctx.Err() == nil: // else what was seen before says more
			last = fmt.Errorf("looking whether port %d listens: %w", port, err)
		}
		return listening, nil
	}))
}

// await polls within what is left of ctx.
func (h *Handle) await(ctx context.Context, last *error, try func() (bool, error)) error {
	limit := h.c.opts.ReadyTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline)
	}
	late := func() error { return fmt.Errorf("%w: %w", ErrNotReady, *last) }
	err := poll(ctx, limit, maxStateWait, late, func() (bool, error) {
		if err := h.ready(); err != nil {
			return false, err
		}
		return try()
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w (%w)", ErrNotReady, *last, context.Cause(ctx))
	}
	return err
}

// listens looks at the sandbox's own table of sockets: not all servers pass on more than HTTP, and
// asking there does not disturb who listens.
func (h *Handle) listens(ctx context.Context, port int) (bool, error) {
	stream, err := h.execd.Run(ctx, opensandbox.RunRequest{Command: "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null"})
	if err != nil {
		return false, err
	}
	defer func() { _ = stream.Close() }() // always nil
	found := false
	for {
		frame, err := stream.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, ErrStreamLost) {
			return found, nil
		}
		if err != nil {
			return false, err
		}
		if frame.Type == opensandbox.TypeStdout {
			found = found || listening(frame.Text(), port)
		}
	}
}

// listening reports whether lines of /proc/net/tcp have a socket that listens on a port.
func listening(lines string, port int) bool {
	const listen, local, state, hex, bits = "0A", 1, 3, 16, 16
	scanner := bufio.NewScanner(strings.NewReader(lines))
	for scanner.Scan() {
		fields := strings.Fields(scanner.Text())
		if len(fields) <= state || fields[state] != listen {
			continue
		}
		at := strings.LastIndexByte(fields[local], ':')
		if n, err := strconv.ParseUint(fields[local][at+1:], hex, bits); err == nil && int(n) == port {
			return true
		}
	}
	return false
}

// WaitForHTTP waits until a GET of a path on a port of the sandbox is answered with a status below
// 400, within the same time as [Handle.WaitForPort].
func (h *Handle) WaitForHTTP(ctx context.Context, port int, path string) error {
	const op = "waiting for HTTP"
	client := http.Client{
		Transport:     h.PortTransport(port),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	last := fmt.Errorf("nothing answers on port %d", port)
	return h.fail(op, h.await(ctx, &last, func() (bool, error) {
		const patience = 10 * time.Second
		short, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		req, err := http.NewRequestWithContext(short, http.MethodGet, "http://sandbox/"+strings.TrimPrefix(path, "/"), nil)
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		resp, err := client.Do(req)
		if err != nil {
			if ctx.Err() == nil { // else what was seen before says more
				last = fmt.Errorf("port %d: %w", port, err)
			}
			return false, nil
		}
		_ = resp.Body.Close() // it is of no interest
		last = fmt.Errorf("GET %s on port %d is answered with %s", path, port, resp.Status)
		return resp.StatusCode < http.StatusBadRequest, nil
	}))
}
