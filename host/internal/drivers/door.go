package drivers

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Routes of a driver's socket.
const (
	routeHere   = "/v1/here"
	routeChange = "/v1/change"
)

// maxMessage bounds a request and an answer, in bytes.
const maxMessage = 4 << 20

// door is where a driver is asked.
type door struct {
	d      *Drivers
	driver sandbox.Ask
	socket string
	server *http.Server
	ended  chan struct{}
	leave  func(context.Context)
}

// Enter lets a driver be asked. That it can't be is no reason for it not to drive.
func (d *Drivers) Enter(key store.Key, epoch uint64, driver sandbox.Ask) (leave func(context.Context)) {
	d.sweep()
	open := &door{d: d, driver: driver, ended: make(chan struct{})}
	if err := open.listen(place{sandboxOf(key), epoch, os.Getpid()}); err != nil {
		d.log.Debug("others can't find who drives a sandbox", "sandbox", key.SandboxID, "err", err)
		return func(context.Context) {}
	}
	var once sync.Once
	open.leave = func(ctx context.Context) { once.Do(func() { open.close(ctx) }) }
	d.mu.Lock()
	defer d.mu.Unlock()
	d.doors[open] = struct{}{}
	return open.leave
}

func (o *door) listen(at place) error {
	if err := os.MkdirAll(o.d.dir, 0o700); err != nil {
		return err
	}
	o.socket = filepath.Join(o.d.dir, at.name())
	l, err := unixsock.Listen(o.socket)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+routeHere, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST "+routeChange, o.change)
	const headerWithin = 30 * time.Second
	o.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: headerWithin,
		ErrorLog: o.d.log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	go func() {
		defer close(o.ended)
		_ = o.server.Serve(unixsock.Own(l, func(uid int, err error) { // ends with the listener
			o.d.log.Warn("somebody else was turned away from the socket of a driver", "uid", uid, "err", err)
		}))
	}()
	return nil
}

func (o *door) change(w http.ResponseWriter, r *http.Request) {
	var asked request
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage))
	decoder.DisallowUnknownFields() // of another version: it would be something else
	if err := decoder.Decode(&asked); err != nil {
		http.Error(w, "reading what is to be changed: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := http.NewResponseController(w).Flush(); err != nil { // who hears nothing knows that nothing was done
		return
	}
	told := answerOf(o.driver(r.Context(), asked.change()))
	if err := json.NewEncoder(w).Encode(told); err != nil {
		o.d.log.Debug("who asked a driver did not wait for the answer", "err", err)
	}
}

// close waits for who asks.
func (o *door) close(ctx context.Context) {
	if err := o.server.Shutdown(ctx); err != nil {
		o.d.log.Warn("who asked a driver was cut off", "err", err)
		_ = o.server.Close()
	}
	<-o.ended
	_ = os.Remove(o.socket) // its name is ours alone
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	delete(o.d.doors, o)
}
