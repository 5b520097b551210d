package plugintest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/credential/brokertest"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/opjson"
	"github.com/alineo-labs/alineo-host/host/internal/sidecar"
)

// ErrRequest is wrapped by errors of Call about a request that is none of the operation.
var ErrRequest = errors.New("no call was made")

// Kept is what a plugin is granted as it is: what one call leaves there the next one finds. What is not named is temporary.
type Kept struct {
	Databases   []string          // by the names that the plugin uses
	Directories map[string]string // of the host, by the guest's path
}

func (k *Kept) directory(guest string) string {
	if k == nil {
		return ""
	}
	return k.Directories[guest]
}

// Exchange is one call of one operation.
type Exchange struct {
	Op    string          `json:"op"`
	Sent  json.RawMessage `json:"sent"`
	Reply json.RawMessage `json:"reply,omitempty"` // when it came to one
	Took  time.Duration   `json:"tookNs"`
}

// Call calls one operation of a plugin once. input is the request as package opjson has it. The exchange
// has what was sent as soon as that is known; sent is told, too, before the call is made, and may be nil. The error wraps
// ErrRequest or ErrNotRunnable when no call was made; else it is the plugin's.
func Call(ctx context.Context, opts Options, kept Kept, name string, input []byte, sent func(json.RawMessage)) (x Exchange, err error) {
	op, ok := opjson.Find(name)
	x.Op = name
	if !ok {
		return x, fmt.Errorf("%w: there is no operation %q of guests", ErrRequest, name)
	}
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	dir, err := os.MkdirTemp(opts.Dir, "alineo-plugin-call-")
	if err != nil {
		return x, fmt.Errorf("making a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opts.Dir = dir
	s, err := load(ctx, opts)
	if err != nil {
		return x, err
	}
	s.kept = &kept
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	t := &temporary{ctx: ctx, dir: dir}
	defer t.cleanUp()

	var call capability.Call
	request, err := op.Request(input, &call, lender(t))
	if err != nil {
		return x, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if x.Sent, err = op.Sent(request, &call); err != nil {
		return x, err
	}
	if sent != nil {
		sent(x.Sent)
	}
	at, err := s.place(t)
	if err != nil {
		return x, fmt.Errorf("%w: making storage: %w", ErrNotRunnable, err)
	}
	p, err := s.open(ctx, at, "")
	if err != nil {
		return x, fmt.Errorf("%w: %w", ErrNotRunnable, err)
	}
	defer func() { err = errors.Join(err, p.Close(context.WithoutCancel(ctx))) }()
	reply := op.NewReply()
	began := time.Now()
	err = p.Call(ctx, op.Op, request, &call, reply)
	x.Took = time.Since(began)
	if err != nil {
		return x, err
	}
	x.Reply, err = op.Reply(reply, &call)
	return x, err
}

// lender makes endpoints: of an address that is given, else of a sidecar that lives as long as the call.
func lender(t *temporary) opjson.Lender {
	return func(base string) (capability.Endpoint, error) {
		if base == "" {
			side, err := sidecar.Open(brokertest.SidecarOptions{})
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = side.Close() })
			return side.Sandbox().Egress, nil
		}
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("it is not a base URL, such as http://127.0.0.1:18080")
		}
		return plainEndpoint{u}, nil
	}
}

// plainEndpoint is a sidecar at an address.
type plainEndpoint struct{ base *url.URL }

// Do sends a request there.
func (e plainEndpoint) Do(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL = e.base.JoinPath(req.URL.Path)
	out.URL.RawQuery = req.URL.RawQuery
	out.Host = ""
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(out) //nolint:gosec // it goes where whoever calls the plugin says
}
