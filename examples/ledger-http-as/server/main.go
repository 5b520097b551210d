package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alineo-labs/alineo-host/examples/ledger-http-as/service"
	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8099", "`address` to listen at")
	file := flag.String("ledger", "./shared.db", "the ledger's SQLite `file`")
	flag.Parse()
	if err := run(context.Background(), *listen, *file); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen, file string) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := config.Parse("", fmt.Appendf(nil, "[plugins.sqlite.config]\npath = %q\n", file))
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	const patience = 10 * time.Second
	server := &http.Server{Addr: listen, Handler: service.New(h.Store()), ReadHeaderTimeout: patience}
	done := make(chan error, 1)
	go func() { done <- server.ListenAndServe() }()
	fmt.Println("serving the ledger", file, "at http://"+listen)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return server.Shutdown(closing)
}
