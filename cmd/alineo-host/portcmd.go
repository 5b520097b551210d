package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// forwarding is one port of a sandbox and where it is reached here.
type forwarding struct {
	remote, local int
	chosen        bool // the local port was named
}

func newPort(a *app) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "port ID REMOTE[:LOCAL]…",
		Short: "Reach a port of a sandbox on this machine",
		Long: `port takes connections to a local port to a port of a running sandbox, until Ctrl-C, and prints the
local address. Without LOCAL, it is the same number where that is free, and another where it is
not; 0 is always a free one. Where the server passes on nothing but HTTP, so does port, with
WebSockets.

It listens on this machine only, unless --address says otherwise: nobody is asked for a password.`,
		Example: `  alineo-host port 6f1c2d3e 8000
  alineo-host port 6f1c2d3e 8000:3000 5432
  curl -s http://127.0.0.1:3000/`,
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted := make([]forwarding, len(args)-1)
			for i, text := range args[1:] {
				var err error
				if wanted[i], err = parseForwarding(text); err != nil {
					return &exitError{code: exitUsage, err: err}
				}
			}
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				return a.forward(ctx, sb, address, wanted)
			})
		},
	}
	cmd.Flags().StringVar(&address, "address", "127.0.0.1", "local `address` to listen on")
	return cmd
}

func parseForwarding(text string) (forwarding, error) {
	remote, local, both := strings.Cut(text, ":")
	f := forwarding{chosen: both}
	var err, localErr error
	f.remote, err = parsePort(remote, 1)
	f.local = f.remote
	if both {
		f.local, localErr = parsePort(local, 0)
	}
	if err := errors.Join(err, localErr); err != nil {
		return f, fmt.Errorf("%q is not REMOTE or REMOTE:LOCAL, such as 8000 or 8000:3000: %w", text, err)
	}
	return f, nil
}

func parsePort(text string, least int) (int, error) {
	const highest = 65535
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > highest {
		return 0, fmt.Errorf("%q is no port", text)
	}
	return n, nil
}

func (f forwarding) listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(f.local)))
	if err != nil && !f.chosen && ctx.Err() == nil {
		listener, err = config.Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("forwarding port %d: %w", f.remote, err)
	}
	return listener, nil
}

func (a *app) forward(ctx context.Context, sb *sandbox.Handle, address string, wanted []forwarding) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, f := range wanted {
		listener, err := f.listen(ctx, address)
		if err == nil {
			err = a.printForwarding(f, listener.Addr())
			all.Go(func() error { return sb.Forward(ctx, listener, f.remote) })
		}
		if err != nil {
			all.Go(func() error { return err }) // ends the others
			break
		}
	}
	return all.Wait()
}

func (a *app) printForwarding(f forwarding, local net.Addr) error {
	if a.out.json {
		return a.out.data(struct {
			Port    int    `json:"port"`
			Address string `json:"address"`
		}{f.remote, local.String()})
	}
	a.out.progressf("port %d of the sandbox, until Ctrl-C:", f.remote)
	return a.out.printf("%s\n", local)
}
