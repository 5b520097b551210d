package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// pollEvery is how often ledger tail --follow looks for new entries.
const pollEvery = 200 * time.Millisecond

// mostLines is what a store gives of the end of a ledger in one page.
const mostLines = 65536

func newLedger(a *app) *cobra.Command {
	return group("ledger", "Read, move, verify and prune the ledger",
		"  alineo-host ledger show ID\n  alineo-host ledger tail --follow\n  alineo-host ledger export -o ledger.jsonl\n  alineo-host ledger verify",
		newLedgerShow(a), newLedgerTail(a), newLedgerExport(a), newLedgerImport(a), newLedgerCopy(a),
		newLedgerVerify(a), newLedgerPrune(a), newLedgerStats(a))
}

func newLedgerShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Print every event of one sandbox, in order",
		Example: `  alineo-host ledger show 6f1c2d3e-…
  alineo-host ledger show 6f1c2d3e-… --json | jq .event`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				details, err := a.findSandbox(ctx, h.Store(), args[0])
				if err != nil {
					return err
				}
				key := store.Key{Name: details.Name, SandboxID: details.SandboxID}
				for e, err := range ledger.ReadSandbox(ctx, h.Store(), key) {
					if err != nil {
						return err
					}
					if err := a.printEntry(&e); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func newLedgerTail(a *app) *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print the newest events of all sandboxes, and with --follow those to come",
		Example: `  alineo-host ledger tail -n 50
  alineo-host ledger tail --follow --json`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 0 || lines > mostLines {
				return &exitError{code: exitUsage, err: fmt.Errorf("-n %d is not between 0 and %d", lines, mostLines)}
			}
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				return a.tail(ctx, h.Store(), lines, follow)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait for new events until interrupted")
	cmd.Flags().IntVarP(&lines, "lines", "n", 20, "how many of the newest events to print first, of 8 MiB together at most")
	return cmd
}

// tail prints the last lines entries and follows.
func (a *app) tail(ctx context.Context, st store.Ledger, lines int, follow bool) error {
	newest := int64(math.MinInt64)
	opts := store.ReadOptions{Last: max(lines, 1)}
	for {
		page, err := st.ReadAll(ctx, opts)
		if err != nil {
			return err
		}
		if len(page.Cursor) > 0 {
			opts.Cursor = page.Cursor
		}
		if n := len(page.Entries); n > 0 {
			if page.Entries[0].ID <= newest {
				return errors.New("reading ledger: the store's page does not follow the one before it")
			}
			newest = page.Entries[n-1].ID
		}
		if opts.Last > 0 && lines == 0 {
			page.Entries = nil // only where they end is of interest
		}
		opts.Last = 0
		if err := a.printEntries(page.Entries); err != nil {
			return err
		}
		if page.More {
			continue
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// entryJSON is an entry as --json prints it.
type entryJSON struct {
	ID        int64           `json:"id"`
	TS        int64           `json:"ts"`
	Name      string          `json:"name"`
	SandboxID string          `json:"sandboxId"`
	StepIndex int64           `json:"stepIndex"`
	Branch    *int64          `json:"branch,omitempty"`
	Event     string          `json:"event"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	Error     *string         `json:"error,omitempty"`
}

func (a *app) printEntries(entries []store.Entry) error {
	for i := range entries {
		if err := a.printEntry(&entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printEntry(e *store.Entry) error {
	if a.out.json {
		payload := e.Payload
		if payload != nil && !json.Valid(payload) {
			// Somebody else wrote it; shown as the text that it is.
			payload = quoted(payload)
		}
		return a.out.data(entryJSON{
			e.ID, e.TS, e.Name, e.SandboxID, e.StepIndex, e.Branch, e.Event, payload, e.Error,
		})
	}
	step := "-"
	if e.StepIndex >= 0 {
		step = strconv.FormatInt(e.StepIndex, 10)
	}
	line := fmt.Sprintf("%6d  %s  %.8s  %2s  %-27s %s", e.ID, time.UnixMilli(e.TS).Format("15:04:05.000"),
		oneLine(e.SandboxID, 80), step, oneLine(e.Event, 80), oneLine(string(e.Payload), 120))
	return a.out.printf("%s\n", strings.TrimRight(line, " "))
}

// quoted shows what is no JSON as a JSON text.
func quoted(payload json.RawMessage) json.RawMessage {
	text, err := json.Marshal(string(payload))
	if err != nil {
		return nil // a string always encodes
	}
	return text
}

// minID is how much of an id has to be given.
const minID = 4

// findSandbox finds a sandbox by its id or by the beginning of one.
func (a *app) findSandbox(ctx context.Context, st store.Ledger, id string) (store.Details, error) {
	details, err := st.FindSandbox(ctx, id)
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return details, a.notFoundHint(err)
	}
	var found []store.Details
	if len(id) >= minID {
		for d, err := range eachSandbox(ctx, st, store.ListOptions{IDPrefix: id}) {
			if err != nil {
				return store.Details{}, err
			}
			found = append(found, d)
		}
	}
	switch len(found) {
	case 0:
		return store.Details{}, a.nameHint(ctx, st, id, err)
	case 1:
		return found[0], nil
	default:
		return store.Details{}, fmt.Errorf("%q is the beginning of %d sandbox ids, among them %s and %s; give more of it",
			id, len(found), found[0].SandboxID, found[1].SandboxID)
	}
}

// nameHint is why there is no sandbox of an id, which may be a name.
func (a *app) nameHint(ctx context.Context, st store.Ledger, id string, notFound error) error {
	if id == "" { // which would be no filter
		return a.notFoundHint(notFound)
	}
	list, err := st.ListSandboxes(ctx, store.ListOptions{Name: id, Limit: new(uint64(1))})
	if err != nil {
		return err
	}
	if len(list.Sandboxes) == 0 {
		return a.notFoundHint(notFound)
	}
	return fmt.Errorf("%q is a name, and an id is wanted; the newest sandbox of that name is %s (see %s sandboxes list --name %s)",
		id, list.Sandboxes[0].SandboxID, a.self(), quote(id))
}

func (a *app) notFoundHint(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w (see %s sandboxes list)", err, a.self())
	}
	return err
}
