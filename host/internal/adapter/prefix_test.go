package adapter_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/host/store/storetest"
)

// older is a guest that was made before ids could be asked for by their beginnings.
type older struct{ adapter.Guest }

func (g older) Call(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message) error {
	if list, ok := req.(*abi.ListSandboxesRequest); ok {
		known := *list
		known.IDPrefix = ""
		req = &known
	}
	return g.Guest.Call(ctx, op, req, call, reply)
}

// TestListingOfAnOlderGuest lists as if the guest knew every filter.
func TestListingOfAnOlderGuest(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t)
	report := storetest.Check(t.Context(), func(t storetest.T) storetest.Storage {
		file := filepath.Join(t.TempDir(), "ledger.db")
		return storetest.Storage{Open: func(ctx context.Context) (store.Ledger, error) {
			st, err := openSQLite(ctx, rt, file, "normal")
			if o, ok := st.(opened); ok {
				o.Ledger = adapter.NewLedger(older{o.guest})
				return o, err
			}
			return st, err
		}}
	}, storetest.CheckOptions{Match: func(c storetest.Case) bool { return strings.HasPrefix(c.Name, "list/") && len(c.Needs) == 0 }})
	if report.Passed < 9 || report.Failed+report.NotRun > 0 {
		t.Errorf("%+v", report)
	}
}

// circling is a guest whose pages of one sandbox lead from three to three others.
type circling struct{ adapter.Guest }

func (circling) Name() string { return "circling" }

func (circling) Call(_ context.Context, _ abi.Op, req abi.Message, _ *capability.Call, reply abi.Message) error {
	at := byte(0)
	if cursor := req.(*abi.ListSandboxesRequest).Cursor; len(cursor) > 0 {
		at = cursor[0]%3 + 1
	}
	page := abi.NewTableWriter(nil, int(abi.SandboxColumns))
	null := abi.Value{}
	page.Row(abi.Text("n"), abi.Text("id"), abi.Text("running"), abi.Int(1), null, abi.Int(0), abi.Text("id"), null, null, null, abi.Int(1))
	*reply.(*abi.RowsReply) = abi.RowsReply{Table: page.Bytes(), Cursor: []byte{at}, More: true}
	return nil
}

func TestListingInACircle(t *testing.T) {
	t.Parallel()
	_, err := adapter.NewLedger(circling{}).ListSandboxes(t.Context(), store.ListOptions{IDPrefix: "other"})
	var broken *plugin.Error
	if !errors.As(err, &broken) || broken.Kind != plugin.KindProtocol {
		t.Errorf("%v, want a breach of the protocol", err)
	}
}
