package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// sums is the hash of every file in the sandbox's workspace, and of the names.
const sums = "cd /workspace && find . -type f -o -type l | sort | grep -v -x ./sums | xargs sha256sum | sha256sum"

// TestSnapshotWhileWriting takes snapshots of a sandbox that writes all the time in a way that shows
// whether a copy is one moment's: each round writes the same number into one file after the other.
func TestSnapshotWhileWriting(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	box := e.create(nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, _, stop := box.start(ctx, `mkdir -p d; i=0; while :; do i=$((i+1)); for f in a b c d/e d/f; do echo $i > $f; done; head -c 300000 /dev/urandom > big; rm -rf d/sub; mkdir d/sub; cp big d/sub/$i; done`)
	defer stop()
	eventually(t, "the first round", func() bool { return box.run("test -e d/sub").Code == "0" })
	before := map[string]string{} // by snapshot: what its first sandbox saw
	for range 5 {
		snap := e.snapshot(box, "")
		again := e.create(map[string]any{"image": nil, "snapshotId": snap})
		n := strings.Fields(again.must("cat a b c d/e d/f"))
		for i := range n {
			// In one moment a file is at most a round behind the one that is written before it.
			if i > 0 && n[i] != n[i-1] && n[i] != fmt.Sprint(number(t, n[0])-1) {
				t.Errorf("not one moment's: %v", n)
			}
		}
		before[snap] = again.must(sums)
		again.must("echo changed > a; rm -r d; seq 100 > new")
		again.delete()
	}
	stop()
	box.must("until rm -rf /workspace/*; do sleep 0.1; done") // the writer may not have ended yet
	for snap, want := range before {
		again := e.create(map[string]any{"image": nil, "snapshotId": snap})
		if got := again.must(sums); got != want {
			t.Errorf("snapshot %s changed after it was taken", snap)
		}
		again.delete()
	}
}

func number(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return n
}

// TestForks forks a fork of a fork and deletes all in different orders: nobody notices the others.
func TestForks(t *testing.T) {
	t.Parallel()
	e := requireNamespaces(t)
	const depth = 4
	for name, order := range map[string][]int{"oldest first": {0, 1, 2, 3}, "newest first": {3, 2, 1, 0}, "mixed": {2, 0, 3, 1}} {
		if testing.Short() && name != "mixed" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &testEngine{t, e.Engine, e.dir}
			box := e.create(nil)
			var boxes, side []*testBox
			var snaps, want []string
			for i := range depth {
				box.must(fmt.Sprintf("seq %d > n; echo %d >> log; mkdir -p d%d; ln -sf n d%d/l; rm -rf d%d; head -c 100000 /dev/urandom > random%d; chmod %d random%d", i*1000+1, i, i, i, i-2, i, 600+i, i))
				want = append(want, box.must(sums))
				snaps = append(snaps, e.snapshot(box, ""))
				boxes = append(boxes, box)
				other := e.create(map[string]any{"image": nil, "snapshotId": snaps[i]})
				other.must("rm -rf /workspace/*; echo other > n")
				side = append(side, other)
				box = e.create(map[string]any{"image": nil, "snapshotId": snaps[i]})
				if got := box.must(sums); got != want[i] {
					t.Errorf("generation %d differs from what it was taken of", i)
				}
			}
			boxes = append(boxes, box)
			gone := map[int]bool{}
			for _, i := range order {
				// A snapshot that something stands on stays.
				code, _, out := e.do(http.MethodDelete, "/snapshots/"+snaps[i], nil)
				if code != http.StatusConflict {
					t.Errorf("snapshot %d is in use, and its deletion answers %d %s", i, code, out)
				}
				side[i].delete()
				boxes[i].delete()
				gone[i] = true
				for j, b := range boxes {
					if gone[j] {
						continue
					}
					if got := b.must(sums); got != want[min(j, depth-1)] {
						t.Errorf("after sandbox %d went, sandbox %d has other files", i, j)
					}
				}
				for j, s := range snaps {
					again := e.create(map[string]any{"image": nil, "snapshotId": s})
					if got := again.must(sums); got != want[j] {
						t.Errorf("after sandbox %d went, snapshot %d has other files", i, j)
					}
					again.delete()
				}
			}
			boxes[depth].delete()
			deleteSnapshots(t, e, snaps)
		})
	}
}

// deleteSnapshots tries in the order that they were made, over and over: those that others stand on go
// last.
func deleteSnapshots(t *testing.T, e *testEngine, snaps []string) {
	t.Helper()
	for round := 0; len(snaps) > 0; round++ {
		if round > 2*len(snaps)+8 {
			t.Fatalf("can't be deleted: %v", snaps)
		}
		var left []string
		for _, s := range snaps {
			if code, _, out := e.do(http.MethodDelete, "/snapshots/"+s, nil); code == http.StatusConflict {
				left = append(left, s)
			} else if code != http.StatusNoContent {
				t.Fatalf("deleting: %d %s", code, out)
			}
		}
		snaps = left
	}
}
