package plugintest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/guestfs"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// subject is the plugin that is tried.
type subject struct {
	opts     Options
	runtime  *plugin.Runtime
	module   *plugin.Module
	manifest abi.Manifest
	grants   []grant
	features []storetest.Feature

	directories []abi.Want // that it is granted, an own one for each case

	durable bool // databases keep what is committed when the power is cut, as they do in use

	kept *Kept // what is used as it is, nil: nothing is

	mu    sync.Mutex
	ends  map[string]*ends // by case
	lates int              // runs of cases in which the guest ran out of time
}

// ends are the guest's ends in one case that were no answers.
type ends struct {
	kind  plugin.Kind // the first one's
	trace string
	late  bool // in this run
}

func (s *subject) close(ctx context.Context) error {
	err := s.runtime.Close(ctx)
	if s.module != nil {
		err = errors.Join(err, s.module.Close(ctx))
	}
	return err
}

// spec is the plugin with these capabilities.
func (s *subject) spec(caps plugin.Host) plugin.Spec {
	return plugin.Spec{
		Name: s.opts.Name, Module: s.module, Limits: s.opts.Limits, Caps: caps, Config: s.opts.Config, HostVersion: s.opts.HostVersion,
	}
}

// anything lets a guest start, and refuses whatever it then asks for.
type anything struct{ log hclog.Logger }

func (anything) Granted(abi.Want) error { return nil }

func (a anything) Logger() hclog.Logger { return a.log }

func (anything) Handle(_ context.Context, _ *capability.Call, op abi.Op, _, dst []byte) ([]byte, *abi.Error) {
	return dst, &abi.Error{Code: abi.CodeDenied, Message: op.String() + " is not granted while a plugin is asked what it is"}
}

// instance is a loaded plugin with its storage's databases.
type instance struct {
	*plugin.Plugin
	caps *capability.Set
	seen func(*plugin.Error)
}

// Call is the plugin's, and notes every end that is no answer of the guest's.
func (i *instance) Call(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message) error {
	err := i.Plugin.Call(ctx, op, req, call, reply)
	if failure, ok := errors.AsType[*plugin.Error](err); ok {
		i.seen(failure)
	}
	return err
}

// closeWithin is how long a guest may take to close.
const closeWithin = 2 * time.Second

// Close closes the plugin and then what it was granted.
func (i *instance) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	return errors.Join(i.Plugin.Close(ctx), i.caps.Close())
}

// open loads the plugin on a place for a case.
func (s *subject) open(ctx context.Context, at place, name string) (*instance, error) {
	databases, err := at.open()
	if err != nil {
		return nil, err
	}
	spec := s.spec(nil)
	closers := map[string]io.Closer{}
	for guest, host := range at.directories {
		dir, err := guestfs.Open(host, guestfs.ReadWrite)
		if err != nil {
			return nil, err
		}
		closers[guest] = dir
		spec.Files = append(spec.Files, plugin.Files{Guest: guest, Dir: dir})
	}
	caps := capability.NewSet(capability.SetOptions{
		Plugin: s.opts.Name, Databases: databases, Files: closers, Secrets: newMadeUp(s.secretNames()).readers(), Web: s.opts.Web, Logger: s.opts.Logger,
	})
	spec.Caps = caps
	seen := func(failure *plugin.Error) { s.note(name, failure) }
	p, err := s.runtime.Load(ctx, spec)
	if err != nil {
		if failure, ok := errors.AsType[*plugin.Error](err); ok {
			seen(failure)
		}
		return nil, errors.Join(err, caps.Close())
	}
	return &instance{Plugin: p, caps: caps, seen: seen}, nil
}

// fresh makes storage for a case.
func (s *subject) fresh(t storetest.T) storetest.Storage {
	at, err := s.place(t)
	if err != nil {
		t.Errorf("making storage for the case: %v", err)
		t.FailNow()
	}
	return storetest.Storage{
		Open: func(ctx context.Context) (store.Ledger, error) {
			p, err := s.open(ctx, at, t.Name())
			if err != nil {
				return nil, err
			}
			return adapter.NewLedger(p), nil
		},
		Insert: at.insert,
		OpenStores: func(ctx context.Context) (storetest.Stores, error) {
			p, err := s.open(ctx, at, t.Name())
			if err != nil {
				return storetest.Stores{}, err
			}
			st := adapter.NewStores(p)
			return storetest.Stores{Instances: st.Instances, Runs: st.Runs, Log: st.Log, Locks: st.Locks, Close: p.Close}, nil
		},
	}
}

// note keeps the first end of a case that was no answer.
func (s *subject) note(name string, failure *plugin.Error) {
	switch failure.Kind { //nolint:exhaustive // the others are the guest's doing
	case plugin.KindGuest, plugin.KindCanceled, plugin.KindClosed, plugin.KindBusy:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.ends[name]
	if e == nil {
		e = &ends{kind: failure.Kind, trace: failure.Trace}
		s.ends[name] = e
	}
	e.late = e.late || failure.Kind == plugin.KindDeadline
}

// maxLate is after how many runs without an answer in time the rest is left out: each costs its
// deadline.
const maxLate = 4

// giveUp says why the rest is not worth the time.
func (s *subject) giveUp(r storetest.Result) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.ends[r.Case.Name]; e != nil && e.late {
		e.late = false
		s.lates++
	}
	if s.lates < maxLate {
		return ""
	}
	return fmt.Sprintf("not run: %d cases ran out of time before it; name it with --run to try it", s.lates)
}

// result adds what the host knows to the suite's.
func (s *subject) result(r storetest.Result) Case {
	c := Case{Name: r.Case.Name, Rule: r.Case.Rule, Status: NotRun, Messages: r.Messages, Took: r.Took}
	switch r.Status {
	case storetest.Passed:
		c.Status = Passed
	case storetest.Failed:
		c.Status = Failed
		s.explain(&c)
	case storetest.NotRun:
	}
	return c
}

// maxTrace is how many functions of a guest's stack are shown.
const maxTrace = 8

// explain says how the guest ended.
func (s *subject) explain(c *Case) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.ends[c.Name]
	if e == nil {
		return
	}
	c.Failure = e.kind.String()
	if e.trace != "" {
		lines := strings.Split(e.trace, "\n")
		c.Messages = append(c.Messages, "the guest's stack, innermost first:\n  "+strings.Join(lines[:min(len(lines), maxTrace)], "\n  "))
	}
}
