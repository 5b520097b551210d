package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

func runListCases() []Case {
	needs := func(f Feature) []Feature { return []Feature{FeatureRuns, f} }
	return []Case{
		{Name: "runs/PS-R4", Rule: "a thread's runs are listed oldest first, also those that have ended", Needs: needs(FeatureRunsThread), run: runsOfThread},
		{Name: "runs/PS-R5", Rule: "exactly the running runs that were detached long enough ago are reclaimable", Needs: needs(FeatureReclaimable), run: reclaimable},
		{Name: "runs/reclaim-order", Rule: "reclaimable runs are listed by how long they wait and then by id, page after page", Needs: needs(FeatureReclaimable), run: reclaimOrder},
		{Name: "runs/reclaim-clock", Rule: "the store's clock decides how long a run has been waiting", Needs: needs(FeatureReclaimable), run: reclaimClock},
		{Name: "runs/interrupted", Rule: "interrupted runs wait since they were interrupted", Needs: needs(FeatureReclaimable), run: reclaimInterrupted},
		{Name: "runs/list", Rule: "all runs are listed newest first, by thread, status and end when asked", Needs: needs(FeatureRunsList), run: runsListed},
		{Name: "runs/count", Rule: "the runs of a sandbox that have not ended are counted, without the one that asks", Needs: needs(FeatureRunsCount), run: runsCounted},
		{Name: "runs/secret", Rule: "a run's secret is given to who asks for it, and shows up nowhere else", Needs: needs(FeatureRunsSecret), run: runSecret},
		{Name: "runs/delete", Rule: "a run that has ended can be deleted, another can't", Needs: needs(FeatureRunsDelete), run: runDeleted},
	}
}

// runIDs follows pages to the end and lists ids.
func (e *env) runIDs(doing string, limit int, list func(cursor []byte) (store.RunPage, error)) string {
	e.Helper()
	var found []string
	var cursor []byte
	for {
		page, err := list(cursor)
		e.must(doing, err)
		if limit > 0 && len(page.Runs) > limit {
			e.Errorf("%s: a page of at most %d has %d", doing, limit, len(page.Runs))
		}
		for i := range page.Runs {
			found = append(found, page.Runs[i].ID)
		}
		if !page.More {
			return strings.Join(found, " ")
		}
		cursor = page.Cursor
	}
}

func runsOfThread(e *env) {
	for _, c := range []struct {
		id, thread string
		at         int64
	}{{"c", "t", 30}, {"b2", "t", 20}, {"B1", "t", 20}, {"a", "t", 10}, {"x", "other", 15}} {
		e.create(store.NewRun{ID: c.id, ThreadID: c.thread, StartedAt: &c.at})
	}
	e.patch("a", finished(store.RunFailed, 11))
	for _, limit := range []int{0, 1, 3} {
		list := func(thread string) string {
			return e.runIDs("listing a thread", limit, func(cursor []byte) (store.RunPage, error) {
				return e.stores.Runs.ListByThread(e.ctx, thread, store.PageOptions{Cursor: cursor, Limit: limit})
			})
		}
		e.equal("runs of t", list("t"), "a B1 b2 c")
		e.equal("runs of nobody", list("nobody"), "")
	}
}

// waiting lists what is reclaimable, page after page.
func (e *env) waiting(opts store.ReclaimOptions) (ids string, runs []store.ReclaimableRun) {
	e.Helper()
	var names []string
	for {
		page, err := e.stores.Runs.ListReclaimable(e.ctx, opts)
		e.must("listing reclaimable runs", err)
		if opts.Limit > 0 && len(page.Runs) > opts.Limit {
			e.Errorf("a page of at most %d has %d", opts.Limit, len(page.Runs))
		}
		if opts.Now == 0 {
			e.recent("the clock of a listing", page.Now)
		} else {
			e.equal("what a listing reckons from", page.Now, opts.Now)
		}
		for i := range page.Runs {
			names = append(names, page.Runs[i].ID)
		}
		runs = append(runs, page.Runs...)
		if !page.More {
			return strings.Join(names, " "), runs
		}
		opts.Cursor = page.Cursor
	}
}

// detach makes a run that was detached then.
func (e *env) detach(id string, since int64) {
	e.Helper()
	e.start(id)
	e.patch(id, store.RunPatch{Set: store.RunFields{DetachedSince: &since, SandboxKey: new("k-" + id)}})
}

func reclaimable(e *env) {
	e.detach("long-ago", 1000)
	e.detach("at-the-cutoff", 5000)
	e.detach("later", 5001)
	e.detach("now", 10000)
	e.start("never-detached")
	e.detach("back", 1000)
	e.patch("back", store.RunPatch{Clear: []store.RunField{store.FieldDetachedSince}})
	for _, status := range []store.RunStatus{store.RunCompleted, store.RunFailed, store.RunAborted} {
		e.detach(string(status), 1000)
		e.patch(string(status), finished(status, 2000))
	}
	e.detach("interrupted", 1000)
	e.patch("interrupted", store.RunPatch{Set: store.RunFields{Status: new(store.RunInterrupted)}})

	ids, runs := e.waiting(store.ReclaimOptions{Now: 10000, TTL: 5 * time.Second})
	e.equal("reclaimable", ids, "long-ago at-the-cutoff")
	if len(runs) > 0 {
		e.same("the first", runs[0], store.ReclaimableRun{
			Run:   store.Run{ID: "long-ago", ThreadID: "t", Status: store.RunRunning, StartedAt: 1, SandboxKey: new("k-long-ago"), DetachedSince: new(int64(1000))},
			Since: 1000,
		})
	}
	ids, _ = e.waiting(store.ReclaimOptions{Now: 10000})
	e.equal("detached", ids, "long-ago at-the-cutoff later now")
}

func reclaimOrder(e *env) {
	// Made in another order than that in which they wait.
	for i, id := range []string{"e", "b", "B", "d", "a"} {
		e.detach(id, []int64{50, 20, 20, 40, 10}[i])
	}
	for _, limit := range []int{0, 1, 2} {
		ids, _ := e.waiting(store.ReclaimOptions{Now: 1000, Limit: limit})
		e.equal(fmt.Sprintf("waiting, by %d", limit), ids, "a B b d e")
	}
	_, err := e.stores.Runs.ListReclaimable(e.ctx, store.ReclaimOptions{Cursor: []byte{1, 2, 3}})
	e.wantErr("listing behind a cursor that nobody gave", err, store.ErrInvalid)
	_, err = e.stores.Runs.ListReclaimable(e.ctx, store.ReclaimOptions{Status: store.RunCompleted})
	e.wantErr("listing what waits though it has ended", err, store.ErrInvalid)
}

func reclaimClock(e *env) {
	e.start("run-1")
	e.patch("run-1", store.RunPatch{Now: []store.RunField{store.FieldDetachedSince}})
	e.detach("old", 1)
	ids, _ := e.waiting(store.ReclaimOptions{})
	e.equal("detached", ids, "old run-1")
	ids, _ = e.waiting(store.ReclaimOptions{TTL: time.Hour})
	e.equal("detached for an hour", ids, "old")
	ids, _ = e.waiting(store.ReclaimOptions{TTL: 1<<63 - 1})
	e.equal("detached for three hundred years", ids, "")
}

func reclaimInterrupted(e *env) {
	run := e.create(store.NewRun{ID: "b", ThreadID: "t"})
	e.start("a")
	e.start("running")
	interrupted := store.RunPatch{Set: store.RunFields{Status: new(store.RunInterrupted)}}
	e.patch("b", interrupted)
	e.patch("a", interrupted)
	_, before := e.waiting(store.ReclaimOptions{Status: store.RunInterrupted})
	e.patch("b", interrupted) // which it is already
	e.patch("b", store.RunPatch{Set: store.RunFields{SandboxKey: new("k")}})
	ids, after := e.waiting(store.ReclaimOptions{Status: store.RunInterrupted, Limit: 1})
	if ids != "b a" && ids != "a b" {
		e.Errorf("interrupted are %q, want a and b", ids)
	}
	since := map[string]int64{}
	for _, r := range before {
		e.recent("since when "+r.ID+" is interrupted", r.Since)
		since[r.ID] = r.Since
		if r.Since < run.StartedAt-1000 {
			e.Errorf("%s is interrupted since %d; it started at %d", r.ID, r.Since, run.StartedAt)
		}
	}
	for _, r := range after {
		e.equal("since when "+r.ID+" is interrupted, after patches that did not change that", r.Since, since[r.ID])
	}
	ids, _ = e.waiting(store.ReclaimOptions{Status: store.RunInterrupted, TTL: time.Hour})
	e.equal("interrupted for an hour", ids, "")
	e.patch("a", store.RunPatch{Set: store.RunFields{Status: new(store.RunRunning)}})
	ids, _ = e.waiting(store.ReclaimOptions{Status: store.RunInterrupted})
	e.equal("interrupted after one went on", ids, "b")
}

func runsListed(e *env) {
	for _, c := range []struct {
		id, thread string
		at         int64
	}{{"a", "t", 10}, {"b1", "t", 20}, {"B2", "t", 20}, {"c", "other", 30}} {
		e.create(store.NewRun{ID: c.id, ThreadID: c.thread, StartedAt: &c.at})
	}
	e.patch("a", finished(store.RunCompleted, 15))
	e.patch("c", finished(store.RunCompleted, 40))
	for _, c := range []struct {
		opts store.RunListOptions
		want string
	}{
		{store.RunListOptions{}, "c b1 B2 a"},
		{store.RunListOptions{ThreadID: "t"}, "b1 B2 a"},
		{store.RunListOptions{Status: store.RunRunning}, "b1 B2"},
		{store.RunListOptions{Status: store.RunCompleted, ThreadID: "t"}, "a"},
		{store.RunListOptions{FinishedBefore: new(int64(40))}, "a"},
		{store.RunListOptions{FinishedBefore: new(int64(41))}, "c a"},
		{store.RunListOptions{Status: store.RunFailed}, ""},
	} {
		for _, limit := range []int{0, 1, 3} {
			opts := c.opts
			opts.Limit = limit
			got := e.runIDs("listing runs", limit, func(cursor []byte) (store.RunPage, error) {
				opts.Cursor = cursor
				return e.stores.Runs.List(e.ctx, opts)
			})
			e.equal(fmt.Sprintf("listing %+v by %d", c.opts, limit), got, c.want)
		}
	}
}

func runsCounted(e *env) {
	for _, id := range []string{"a", "b", "c", "d"} {
		e.start(id)
		e.patch(id, store.RunPatch{Set: store.RunFields{SandboxKey: new("k")}})
	}
	e.start("other")
	e.patch("other", store.RunPatch{Set: store.RunFields{SandboxKey: new("k2")}})
	e.start("none")
	e.patch("b", finished(store.RunAborted, 5))
	e.patch("c", store.RunPatch{Set: store.RunFields{Status: new(store.RunInterrupted)}})
	for _, c := range []struct {
		key, except string
		want        int
	}{{"k", "", 3}, {"k", "a", 2}, {"k", "b", 3}, {"k2", "", 1}, {"k2", "other", 0}, {"nobody", "", 0}} {
		got, err := e.stores.Runs.CountBySandbox(e.ctx, c.key, c.except)
		e.must("counting", err)
		if got != c.want {
			e.Errorf("runs of %s without %q are %d, want %d", c.key, c.except, got, c.want)
		}
	}
}

func runSecret(e *env) {
	secret := store.RunSecret("\x00canary-7f3a\xff")
	run := store.NewRun{ID: "run-1", ThreadID: "t", StartedAt: new(int64(1)), Secret: secret}
	want := store.Run{ID: "run-1", ThreadID: "t", Status: store.RunRunning, StartedAt: 1}
	e.same("new run", e.create(run), want)
	run.Secret = store.RunSecret("another")
	if _, _, err := e.stores.Runs.CreateOrGet(e.ctx, run); err != nil {
		e.Errorf("creating again: %v", err)
	}
	e.start("run-2")
	for id, want := range map[string]string{"run-1": string(secret), "run-2": "", "nobody": ""} {
		got, ok, err := e.stores.Runs.Secret(e.ctx, id)
		e.must("getting the secret of "+id, err)
		if string(got) != want || ok != (want != "") {
			e.Errorf("the secret of %s has %d bytes, %v; want %d", id, len(got), ok, len(want))
		}
	}
	e.patch("run-1", store.RunPatch{Set: store.RunFields{SandboxKey: new("k")}})
	want.SandboxKey = new("k")
	e.same("run", e.run("run-1"), want)
	if got, _, err := e.stores.Runs.Secret(e.ctx, "run-1"); err != nil || string(got) != string(secret) {
		e.Errorf("the secret did not outlive a patch: %v", err)
	}
}

func runDeleted(e *env) {
	e.start("run-1")
	e.start("run-2")
	_, err := e.stores.Runs.Delete(e.ctx, "run-1")
	e.wantErr("deleting a run that runs", err, store.ErrConflict)
	e.patch("run-1", store.RunPatch{Set: store.RunFields{Status: new(store.RunInterrupted)}})
	_, err = e.stores.Runs.Delete(e.ctx, "run-1")
	e.wantErr("deleting a run that is interrupted", err, store.ErrConflict)
	e.run("run-1")
	e.patch("run-1", finished(store.RunAborted, 5))
	for i, want := range []bool{true, false} {
		did, err := e.stores.Runs.Delete(e.ctx, "run-1")
		e.must("deleting", err)
		if did != want {
			e.Errorf("deletion %d says %v, want %v", i+1, did, want)
		}
	}
	if _, ok, err := e.stores.Runs.Get(e.ctx, "run-1"); err != nil || ok {
		e.Errorf("a deleted run is there: %v, %v", ok, err)
	}
	e.run("run-2")
}
