package storetest

import (
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/host/store"
)

func listingCases() []Case {
	return []Case{
		{"list/order", "sandboxes are listed newest first, those of one time by who was created last", nil, listOrder},
		{"list/name", "a name limits the listing to its sandboxes", nil, listName},
		{"list/status", "running and completed are told apart", nil, listStatus},
		{"list/run", "run, resource and team limit the listing; a sandbox without run id is found by its own", nil, listRun},
		{"list/prefix", "a beginning of ids limits the listing to those that begin with it, byte by byte, whatever they go on with", nil, listPrefix},
		{"list/before", "before keeps what started strictly earlier; 0 keeps nothing", nil, listBefore},
		{"list/limit", "the limit counts after the filters; 0 lists nothing", nil, listLimit},
		{"list/paging", "pages follow each other by cursor, also through sandboxes of one time, and keep the filters", nil, listPaging},
		{"list/without-created", "ledgers without sandbox.created are left out", nil, listWithoutCreated},
		{"list/malformed", "a created row whose payload isn't JSON doesn't break the listing", []Feature{FeatureForeignRows}, listMalformed},
	}
}

// sandbox writes a sandbox that started at ts and, when closed isn't 0, was closed then.
func (e *env) sandbox(name, id string, ts, closed int64, payload string) *driver {
	e.Helper()
	d := e.drive(name, id)
	d.append(event(ts, "sandbox.created", payload))
	if closed != 0 {
		d.append(event(closed, "sandbox.closed", ""))
	}
	return d
}

// list lists everything, page by page.
func (e *env) list(opts store.ListOptions) []store.Details {
	e.Helper()
	var all []store.Details
	for {
		page, err := e.ListSandboxes(e.ctx, opts)
		e.must("listing sandboxes", err)
		all = append(all, page.Sandboxes...)
		if !page.More {
			return all
		}
		if len(page.Sandboxes) == 0 {
			e.Errorf("an empty page of sandboxes says that there is more")
			e.FailNow()
		}
		opts.Cursor = page.Cursor
	}
}

// first lists one page.
func (e *env) first(opts store.ListOptions) string {
	e.Helper()
	page, err := e.ListSandboxes(e.ctx, opts)
	e.must("listing sandboxes", err)
	return ids(page.Sandboxes)
}

func listOrder(e *env) {
	e.sandbox("run", "b", 200, 0, `{}`)
	e.sandbox("run", "a", 100, 900, `{}`)
	e.sandbox("run", "d", 200, 0, `{}`)
	e.sandbox("other", "c", 200, 0, `{}`)
	e.sandbox("run", "e", 300, 0, `{}`)
	e.equal("sandboxes", ids(e.list(store.ListOptions{})), "e c d b a")
}

func listName(e *env) {
	e.sandbox("run", "a", 1, 0, `{}`)
	e.sandbox("run2", "b", 2, 0, `{}`)
	e.sandbox("run", "c", 3, 0, `{}`)
	e.equal("sandboxes", ids(e.list(store.ListOptions{Name: "run"})), "c a")
	e.equal("sandboxes of an unknown name", ids(e.list(store.ListOptions{Name: "ru"})), "")
}

func listStatus(e *env) {
	e.sandbox("run", "a", 1, 0, `{}`)
	e.sandbox("run", "b", 2, 5, `{}`)
	e.sandbox("other", "c", 3, 4, `{}`)
	e.equal("running", ids(e.list(store.ListOptions{Status: store.StatusRunning})), "a")
	e.equal("completed", ids(e.list(store.ListOptions{Status: store.StatusCompleted})), "c b")
	e.equal("completed of one name", ids(e.list(store.ListOptions{Status: store.StatusCompleted, Name: "run"})), "b")
}

func listRun(e *env) {
	e.sandbox("run", "a", 1, 0, `{"runId":"r1","resourceId":"res","teamId":"team"}`)
	e.sandbox("run", "b", 2, 0, `{"runId":"r2","teamId":"team"}`)
	e.sandbox("run", "c", 3, 0, ``)
	e.equal("of run r1", ids(e.list(store.ListOptions{RunID: "r1"})), "a")
	e.equal("of run c, which is the sandbox itself", ids(e.list(store.ListOptions{RunID: "c"})), "c")
	e.equal("of an unknown run", ids(e.list(store.ListOptions{RunID: "a"})), "")
	e.equal("of a resource", ids(e.list(store.ListOptions{ResourceID: "res"})), "a")
	e.equal("of a team", ids(e.list(store.ListOptions{TeamID: "team"})), "b a")
	e.equal("of a team and a run", ids(e.list(store.ListOptions{TeamID: "team", RunID: "r2"})), "b")
}

func listPrefix(e *env) {
	for i, id := range []string{"ab", "ab1", "AB2", "abé", "ab~", "ac", "a", "xab", "a%b", "a_c", "ab😀"} {
		e.sandbox([]string{"run", "other"}[i%2], id, int64(i+1), int64(i%3)*50, `{}`)
	}
	for prefix, want := range map[string]string{
		"a": "ab😀 a_c a%b a ac ab~ abé ab1 ab", "ab": "ab😀 ab~ abé ab1 ab", "ab1": "ab1", "ab11": "", "abé": "abé", "ab😀": "ab😀", "A": "AB2",
		"a%": "a%b", "a_": "a_c", "x": "xab", "b": "", "ab\U0010FFFF": "", "\U0010FFFF": "", "": "ab😀 a_c a%b xab a ac ab~ abé AB2 ab1 ab",
	} {
		e.equal(fmt.Sprintf("sandboxes whose ids begin with %q", prefix), ids(e.list(store.ListOptions{IDPrefix: prefix})), want)
		for _, limit := range []uint64{1, 2, 4} {
			got := ids(e.list(store.ListOptions{IDPrefix: prefix, Limit: &limit}))
			e.equal(fmt.Sprintf("those whose ids begin with %q in pages of %d", prefix, limit), got, want)
		}
	}
	three, before := uint64(3), int64(11)
	e.equal("the first three", e.first(store.ListOptions{IDPrefix: "ab", Limit: &three}), "ab😀 ab~ abé")
	e.equal("those of one name", ids(e.list(store.ListOptions{IDPrefix: "ab", Name: "run"})), "ab😀 ab~ ab")
	e.equal("those that run", ids(e.list(store.ListOptions{IDPrefix: "ab", Status: store.StatusRunning})), "abé ab")
	e.equal("those that began before the last", ids(e.list(store.ListOptions{IDPrefix: "ab", Before: &before})), "ab~ abé ab1 ab")
	e.equal("that of a run", ids(e.list(store.ListOptions{IDPrefix: "ab", RunID: "ab1"})), "ab1")
	e.equal("that of a run whose id begins in another way", ids(e.list(store.ListOptions{IDPrefix: "ab", RunID: "ac"})), "")
}

func listBefore(e *env) {
	e.sandbox("run", "a", 100, 0, `{}`)
	e.sandbox("run", "b", 200, 0, `{}`)
	e.sandbox("run", "c", 300, 0, `{}`)
	for before, want := range map[int64]string{0: "", 100: "", 101: "a", 200: "a", 300: "b a", 301: "c b a"} {
		e.equal(fmt.Sprintf("before %d", before), ids(e.list(store.ListOptions{Before: &before})), want)
	}
}

func listLimit(e *env) {
	for i, id := range []string{"a", "b", "c", "d"} {
		e.sandbox("run", id, int64(i+1), int64(i%2)*50, `{}`)
	}
	for limit, want := range map[uint64]string{0: "", 1: "d", 3: "d c b", 4: "d c b a", 1 << 40: "d c b a"} {
		e.equal(fmt.Sprintf("limit %d", limit), e.first(store.ListOptions{Limit: &limit}), want)
	}
	one := uint64(1)
	e.equal("limit 1 of those that run", e.first(store.ListOptions{Limit: &one, Status: store.StatusRunning}), "c")
	none := uint64(0)
	page, err := e.ListSandboxes(e.ctx, store.ListOptions{Limit: &none})
	e.must("listing with limit 0", err)
	if page.More {
		e.Errorf("limit 0 says that there is more")
	}
}

func listPaging(e *env) {
	var want []string
	for i := range 11 {
		id := fmt.Sprintf("s%d", i)
		e.sandbox("run", id, int64(100+i/4), 0, `{"runId":"r"}`)
		want = append([]string{id}, want...)
		e.sandbox("noise", "n"+id, int64(100+i/4), 0, `{"runId":"x"}`)
	}
	for _, limit := range []uint64{1, 3, 10, 11, 12} {
		got := e.list(store.ListOptions{Name: "run", RunID: "r", Limit: &limit})
		e.equal(fmt.Sprintf("sandboxes in pages of %d", limit), ids(got), strings.Join(want, " "))
	}
}

func listWithoutCreated(e *env) {
	d := e.drive("run", "a")
	d.append(event(1, "sandbox.closed", ""), step(2, 1, "exec.completed", `{"seq":1}`))
	e.sandbox("run", "b", 1, 0, `{}`)
	e.equal("sandboxes", ids(e.list(store.ListOptions{})), "b")
	_, err := e.GetSandbox(e.ctx, d.key)
	e.wantErr("getting it", err, store.ErrNotFound)
	_, err = e.FindSandbox(e.ctx, "a")
	e.wantErr("finding it", err, store.ErrNotFound)
	e.equal("entries", len(e.read(e.Ledger, d.key)), 2)
}

func listMalformed(e *env) {
	e.sandbox("run", "a", 1, 0, `{"runId":"r"}`)
	bad := event(2, "sandbox.created", `{"runId":`)
	bad.Name, bad.SandboxID = "run", "b"
	e.must("inserting a malformed row", e.storage.Insert(e.ctx, []store.Entry{bad}))
	list := e.list(store.ListOptions{})
	e.equal("sandboxes", ids(list), "b a")
	if len(list) == 2 {
		e.equal("run of the malformed one", list[0].RunID, "b")
	}
}
