//go:build !race

package sdktest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
)

// group is a part of a level: the cases whose names begin with it, and why there are such rules.
type group struct{ prefix, why string }

// level is what a plugin may claim of itself.
type level struct {
	title, when string
	cases       []host.PluginTestCase
	groups      []group
}

func levels() []level {
	stores, brokers := host.PluginTestCases(), host.PluginTestBrokerCases()
	return []level{
		{"Every plugin", "Always.", stores, []group{
			{"plugin/", "The host decides by the manifest what a plugin is granted and asked, before it trusts it with anything. A plugin that answers what it " +
				"does not know, instead of failing, works with hosts of later versions; one whose memory grows ends in the middle of somebody's work."},
		}},
		{"ledger", "The manifest has the kind `ledger`. Rules about what a plugin does not declare are left out and listed with the reason.", stores, []group{
			{"append/", "A run is resumed from its ledger alone. What comes back otherwise than it was written, or only in part, resumes another run; and the hash " +
				"of an entry is over its bytes."},
			{"head/", "Who takes a sandbox over goes on behind the last step. A head that says too little repeats steps; one that says too much leaves a gap."},
			{"fencing/", "Two drivers of one sandbox (one that hung, and the one in its place) would write one history over the other. The epoch lets exactly the " +
				"later one write."},
			{"retry/", "After a lost answer the host does not know whether it wrote. It sends the identical segments again, so the store must know them: written " +
				"twice is as wrong as lost."},
			{"read/", "Resuming, exporting and following a ledger read it page by page while others write. A cursor that skips or repeats an entry does so silently."},
			{"read-all/", "The same for whoever follows all sandboxes: the order is that of ids, because times of several writers don't agree."},
			{"checkpoint/", "A sandbox is restored from its last checkpoint; an older one loses work that was saved."},
			{"list/", "People and schedulers find sandboxes by these lists. One bad row of somebody else's must not hide all others."},
			{"sandbox/", "What is shown of a sandbox is computed from its entries, so that it can't say anything else than they do. Deletion has to end also when it " +
				"takes several calls, and must take nothing else along."},
			{"environment/", "Prebuilt images are found again by name, the newest first; a name leads to one."},
			{"handle/", "Several hosts, or several instances of one plugin, share a store. What one was told is written, the others must see."},
			{"heads/", "Verification, export and pruning walk through all sandboxes and must miss none. (Feature: maintenance.)"},
			{"segments/", "`ledger verify` recomputes every hash from what was appended, byte for byte. (Feature: maintenance.)"},
			{"tombstones/", "That something was deleted has to be known, else nobody can tell a deletion from a loss. (Feature: maintenance.)"},
			{"usage/", "Retention decides by these numbers what is to go. (Feature: maintenance.)"},
			{"stats/", "A number that is told must be right; one that would take long need not be told. (Feature: maintenance.)"},
			{"maintenance/", "Operating a ledger must not stop who writes to it. (Feature: maintenance.)"},
			{"undeclared/", "The host goes by the manifest. A half operation that nobody declared is one that nobody tried."},
		}},
		{"instances", "The manifest has the kind `instances`.", stores, []group{
			{"instances/", "Which sandbox belongs to a key is what makes a second caller find the first one's sandbox. The conditional forms keep two callers from " +
				"making two."},
		}},
		{"runs", "The manifest has the kind `runs`.", stores, []group{
			{"runs/", "A durable run is picked up by another process from its record alone. Absent and empty are two things there, and the store's clock is the only " +
				"one that all processes share."},
		}},
		{"fenced", "The kind `runs` with the optional operations `runs.claim` and `runs.patch_if`.", stores, []group{
			{"fenced/", "A driver that was paused and comes back must not end a run that another goes on with."},
		}},
		{"log", "The manifest has the kind `log`.", stores, []group{
			{"log/", "Clients follow a run by the offsets of its log and come back with the last that they saw: an offset that is given twice, or skipped, is an event " +
				"that somebody never sees."},
		}},
		{"locks", "The manifest has the kind `locks`.", stores, []group{
			{"locks/", "A lock that two hold at once is worse than none, because both rely on it. Its holder may die, so it ends by itself; its fence lets others refuse " +
				"one that came too late."},
		}},
		{"broker", "The manifest has the kind `broker`.", brokers, []group{
			{"set/", "A request that goes out a moment too early goes without its credential and fails; one to the wrong place gives the credential away."},
			{"match/", "A binding is a promise about where a secret goes. Wider than it says is a leak, narrower is a failure that nobody can explain."},
			{"patch/", "Secrets are rotated while sandboxes run. When the change is acknowledged the old value must be out of use."},
			{"remove/", "Whoever takes a credential away relies on its being gone when the call returns."},
			{"list/", "People check by this list what a sandbox can do; what it can't tell it has to say."},
			{"fault/", "The sidecar is another program on the way: it starts late, is changed by others and fails. Which of these it was decides what a person does next, " +
				"and no message may hold the secret."},
			{"resolve/", "Values are found when they are needed, so that a rotated one counts at once. A broker that guesses gives somebody else's secret."},
		}},
	}
}

// TestRules holds docs/plugin-rules.md against the suite; -update writes it.
func TestRules(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# The rules, and why\n\n<!-- Written by: go test ./internal/sdktest -run TestRules -update -->\n\n" +
		"What `alineo-host plugin test` tries, level by level. A case alone: `--run '^append/atomic$'`. What each operation has\nto do is in [abi/ABI.md](../abi/ABI.md), how the suite is used in [plugin-testing.md](plugin-testing.md).\n")
	told := map[string]bool{}
	for _, l := range levels() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", l.title, l.when)
		for _, g := range l.groups {
			fmt.Fprintf(&b, "\n**%s** %s\n\n| case | rule |\n| --- | --- |\n", strings.TrimSuffix(g.prefix, "/"), g.why)
			rows := 0
			for _, c := range l.cases {
				if strings.HasPrefix(c.Name, g.prefix) {
					fmt.Fprintf(&b, "| `%s` | %s |\n", c.Name, strings.ReplaceAll(c.Rule, "|", `\|`))
					told[c.Name] = true
					rows++
				}
			}
			if rows == 0 {
				t.Errorf("%s: there are no cases of %s", l.title, g.prefix)
			}
		}
	}
	for _, list := range [][]host.PluginTestCase{host.PluginTestCases(), host.PluginTestBrokerCases()} {
		for _, c := range list {
			if !told[c.Name] {
				t.Errorf("%s is of no group: say in levels() why there is such a rule", c.Name)
			}
		}
	}
	file := filepath.Join("..", "..", "docs", "plugin-rules.md")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != b.String() {
		t.Errorf("%s is another one than the suite (%v): go test ./internal/sdktest -run TestRules -update", file, err)
	}
}

var _ = flag.Bool("update", false, "write generated pages anew")
