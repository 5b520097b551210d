package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
)

// maintenance is every operation that a ledger may have.
var maintenance = []operation{
	{abi.OpLedgerListHeads, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.ListHeads(ctx, store.ReadOptions{})
		return err
	}},
	{abi.OpLedgerListSegments, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.ListSegments(ctx, victim, store.ReadOptions{})
		return err
	}},
	{abi.OpLedgerListTombstones, func(ctx context.Context, l *adapter.Ledger) error {
		_, err := l.ListTombstones(ctx, store.ReadOptions{})
		return err
	}},
	{abi.OpLedgerUsage, func(ctx context.Context, l *adapter.Ledger) error { _, err := l.Usage(ctx, victim); return err }},
	{abi.OpLedgerStats, func(ctx context.Context, l *adapter.Ledger) error { _, err := l.Stats(ctx); return err }},
}

// What a guest answers about heads, segments and tombstones is not believed.
func TestHostileMaintenance(t *testing.T) {
	t.Parallel()
	if raced {
		t.Skip("LEFT OUT: nonsense of a guest is read by one caller, and each deadline is waited for")
	}
	rt := newRuntime(t)
	heads, segments, tombstones := abi.OpLedgerListHeads, abi.OpLedgerListSegments, abi.OpLedgerListTombstones
	for mode, want := range map[string]struct {
		text string
		ops  []abi.Op
	}{
		"":              {"", nil},
		"keep-hash":     {"has 31 bytes, not 32", []abi.Op{heads, segments, tombstones}},
		"keep-id":       {"has 17 bytes, not 16", []abi.Op{heads, segments}},
		"keep-leaves":   {"65 bytes of leaves", []abi.Op{segments}},
		"keep-none":     {"0 bytes of leaves", []abi.Op{segments}},
		"keep-order":    {"does not follow", []abi.Op{heads, segments, tombstones}},
		"keep-twice":    {"does not follow", []abi.Op{heads, segments, tombstones}},
		"keep-stuck":    {"cursor does not move", []abi.Op{heads, segments, tombstones}},
		"keep-empty":    {"no rows and says that there are more", []abi.Op{heads, segments, tombstones}},
		"keep-negative": {"the plugin", []abi.Op{heads, tombstones, abi.OpLedgerUsage, abi.OpLedgerStats}},
		"keep-times":    {"from 2 to 1 ms", []abi.Op{abi.OpLedgerUsage}},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			l := openHostile(t, rt, "hostile", mode)
			wrong := map[abi.Op]bool{}
			for _, op := range want.ops {
				wrong[op] = true
			}
			for _, o := range maintenance {
				err := o.run(t.Context(), l)
				if !wrong[o.op] {
					if err != nil {
						t.Errorf("%v: %v", o.op, err)
					}
					continue
				}
				if !plugin.IsKind(err, plugin.KindProtocol) || !strings.Contains(err.Error(), want.text) ||
					!strings.Contains(err.Error(), fmt.Sprintf("plugin %q: %s: ", "hostile", o.op)) {
					t.Errorf("%v: error %v, want %q", o.op, err, want.text)
				}
			}
		})
	}
}

// A guest that does not declare an operation is not asked for it.
func TestUndeclaredMaintenance(t *testing.T) {
	t.Parallel()
	l := openHostile(t, newRuntime(t), "spin", "") // it would never answer
	for _, o := range maintenance {
		if err := o.run(t.Context(), l); !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), `plugin "spin": `+o.op.String()) {
			t.Errorf("%v: %v", o.op, err)
		}
	}
}
