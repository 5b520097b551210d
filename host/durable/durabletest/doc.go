// Package durabletest is the shared suite of durable runs: named cases over real stores and real
// sandboxes, each with a sentence that says what holds.
//
//	func TestDurable(t *testing.T) {
//		durabletest.Run(t, func(t storetest.T) durabletest.Site {
//			path := filepath.Join(t.TempDir(), "runs.db")
//			return durabletest.Site{
//				Open:     func(ctx context.Context) (durable.Stores, error) { return myStores(ctx, path) },
//				Machines: machines,
//			}
//		})
//	}
//
// The cases called JN are about the journal in a sandbox, TK about taking runs over, RP about sweeps and H
// about what goes wrong in other designs; KP is about what is kept. What a case needs of the stores, it asks
// them; one whose needs aren't met is skipped as "not run", which is not passed.
//
// Each case gets stores of its own and opens several handles on them, as several hosts would. Sandboxes are made
// by the site's Machines and destroyed at the case's end.
//
// imports: host/durable, host/internal/journal, host/store.
package durabletest
