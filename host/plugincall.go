package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/internal/opjson"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/plugintest"
)

// What BenchPlugin tells.
type (
	// PluginMeasures are what a plugin costs.
	PluginMeasures = plugintest.Measures
	// PluginRate is how much was done in a time.
	PluginRate = plugintest.Rate
)

// BenchPlugin measures a plugin as TestPlugin finds it: how long it takes to load, what a call costs, what a
// ledger takes in and gives back, and its memory. Each thing is done for a time; 0 is a second.
func BenchPlugin(ctx context.Context, cfg *config.Config, nameOrFile string, opts PluginTest, each time.Duration) (PluginMeasures, error) {
	tried, err := pluginTried(cfg, nameOrFile, opts)
	if err != nil {
		return PluginMeasures{}, err
	}
	m, err := plugintest.Bench(ctx, tried, each)
	return m, triedError(cfg, nameOrFile, opts, err)
}

// ErrPluginRequest is wrapped by errors of CallPlugin about a request that is none of the operation.
var ErrPluginRequest = plugintest.ErrRequest

// PluginExchange is one call of one operation.
type PluginExchange = plugintest.Exchange

// PluginCall is a call that CallPlugin makes.
type PluginCall struct {
	Op    string // its name in the manual
	Input []byte // the request, a JSON object; empty: {}
	// Directories are granted as they are, by the guest's path; those that are not here are temporary.
	Directories map[string]string
	Sent        func(json.RawMessage) // told what is sent before it is; may be nil
}

// CallPlugin calls one operation of a plugin once, as TestPlugin finds the plugin, but on what opts.Grants
// and call name; what nobody names is temporary. The error wraps ErrPluginRequest or ErrPluginNotRunnable when no
// call was made; else PluginFailure tells it apart.
func CallPlugin(ctx context.Context, cfg *config.Config, nameOrFile string, opts PluginTest, call PluginCall) (PluginExchange, error) {
	tried, err := pluginTried(cfg, nameOrFile, opts)
	if err != nil {
		return PluginExchange{}, err
	}
	kept := plugintest.Kept{Directories: call.Directories}
	for name, db := range opts.Grants {
		if db.Driver == config.Postgres || db.Path != "" {
			kept.Databases = append(kept.Databases, name)
		}
	}
	x, err := plugintest.Call(ctx, tried, kept, call.Op, call.Input, call.Sent)
	return x, triedError(cfg, nameOrFile, opts, err)
}

// PluginFailed is how a call of a plugin ended that was not answered with a reply.
type PluginFailed struct {
	Kind    string `json:"kind"` // guest: its own answer; or what the host saw: trap, memory, deadline, protocol …
	Message string `json:"message"`
	// Code, Retryable and Details are of the guest's own answer.
	Code      string            `json:"code,omitempty"`
	Retryable bool              `json:"retryable,omitempty"`
	Details   map[string]string `json:"details,omitempty"`
	Trace     string            `json:"trace,omitempty"` // the guest's stack, one function a line, innermost first
}

// PluginFailure finds in an error how a plugin failed.
func PluginFailure(err error) (PluginFailed, bool) {
	failed, ok := errors.AsType[*plugin.Error](err)
	if !ok {
		return PluginFailed{}, false
	}
	f := PluginFailed{Kind: failed.Kind.String(), Message: failed.Err.Error(), Trace: failed.Trace}
	if guest, ok := errors.AsType[*abi.Error](err); ok && failed.Kind == plugin.KindGuest {
		f.Code, f.Message, f.Retryable, f.Details = guest.Code.String(), guest.Message, guest.Retryable, guest.Details
	}
	return f, true
}

// PluginOperation is an operation of guests, for people.
type PluginOperation struct {
	Name     string   `json:"name"`
	Request  string   `json:"request"` // of package abi
	Reply    string   `json:"reply"`
	Optional bool     `json:"optional"`
	Has      *bool    `json:"has,omitempty"` // whether a plugin says that it has it
	Members  []Member `json:"members"`       // of the request
}

// Member is a member of a request as JSON.
type Member struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// PluginOperations are the operations that guests can have. With a manifest it tells which of them that plugin has.
func PluginOperations(m *abi.Manifest) []PluginOperation {
	var list []PluginOperation
	for _, op := range opjson.Operations() {
		request, reply := op.MessageNames()
		o := PluginOperation{Name: op.Name(), Request: request, Reply: reply, Optional: op.Op.Optional(), Members: []Member{}}
		for _, f := range op.Fields() {
			o.Members = append(o.Members, Member(f))
		}
		if m != nil {
			has := hasOperation(m, op.Op)
			o.Has = &has
		}
		list = append(list, o)
	}
	return list
}

// hasOperation says whether a plugin of a manifest has an operation.
func hasOperation(m *abi.Manifest, op abi.Op) bool {
	if op.Optional() {
		return slices.Contains(m.Optional, op.String())
	}
	group, _, dotted := strings.Cut(op.String(), ".")
	if group == "environment" {
		group = "ledger"
	}
	return !dotted || slices.Contains(m.Kinds, group)
}
