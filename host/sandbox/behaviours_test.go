package sandbox_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// behaviour is one that the reference client's tests have, by its number in our list of them, or
// several in a row that one of our tests shows.
type behaviour struct {
	from, to int
	what     string
	// tests are names of tests: of this package, of another one after its folder and a dot, or, after
	// suite:, of a case of the suite for ledgers, which runs on every kind of ledger.
	tests string
	not   string // why there is nothing to show
}

const (
	noAgents   = "it belongs to the layer of agents and workflows, which is not part of this client"
	noDangling = "every stream is closed by whoever reads it, and goroutines that are left fail all tests of this package"
)

func execBehaviours() []behaviour {
	return []behaviour{
		{1, 2, "waiting gives the output and the exit code, each time the same", "TestExecResults TestExecStreams", ""},
		{3, 3, "standard error is apart, and exit code 1 is told", "TestExecResults", ""},
		{4, 4, "output comes in pieces, in order", "TestExecStreams TestRecordedStreams", ""},
		{5, 5, "output is piped into a writer", "TestEvents", ""},
		{6, 6, "the hook gets the finished result", "TestHooks", ""},
		{7, 10, "a replayed exec has its result at once, and its readers and non-zero code", "TestResume TestReplayedReaders", ""},
		{11, 12, "a terminal's output is standard output, as it comes, and its exit the result", "TestInteractive", ""},
		{13, 13, "output from before the checkpoint comes first", "TestResumeInteractive", ""},
		{14, 14, "input, size, signals and closing reach the terminal", "TestInteractive TestTerminalEnds", ""},
		{15, 15, "without a terminal they do nothing", "TestResumeInteractive", ""},
		{16, 16, "a terminal that can't be set up fails the exec", "TestTerminalHooks", ""},
		{17, 17, "the hook gets a terminal's exit code", "TestTerminalHooks", ""},
		{18, 19, "a replayed terminal has ended, and takes input that nobody gets", "TestResumeInteractive", ""},
	}
}

func handleBehaviours() []behaviour {
	return []behaviour{
		{20, 20, "a sandbox that does not answer twice is ready at the third time", "TestCreateWaitsUntilRunning", ""},
		{21, 21, "one that never answers is an error of its own", "TestCreateFailuresLeaveNothing", ""},
		{22, 22, "the default budget is enough for slow hosts", "", "the budget is a time, Options.ExecdTimeout, and no number of tries"},
		{23, 23, "closing ends what still streams, once", "TestClose TestExecCancel", ""},
		{24, 24, "closing resolves nothing that was not used", "", noDangling},
		{25, 25, "closing twice is closing once", "TestClose TestPauseAndUnpause", ""},
		{26, 28, "a fork makes a checkpoint, records it with its tag, and returns the new sandbox", "TestFork TestForkFails", ""},
		{29, 29, "what can't be forked says so", "TestConnect", ""},
		{30, 31, "a fork's identity is given or inherited", "TestFork", ""},
		{32, 32, "the checkpoint's hook is called for a fork", "TestFork", ""},
		{33, 36, "a terminal's start, input, output and end are recorded in order", "TestInteractive", ""},
		{37, 38, "a strict terminal's exit code is an error, another's is not", "TestTerminalEnds TestInteractive", ""},
		{39, 39, "closing the sandbox closes its terminals", "TestTerminalEnds", ""},
		{40, 40, "a recorded terminal opens none", "TestResumeInteractive", ""},
		{41, 41, "recorded input is typed before any other", "TestResumeInteractive", ""},
		{42, 42, "entries are written in the order of their calls", "host/ledger.TestManyAtOnce host/ledger.TestBatchesAreBounded", ""},
		{43, 43, "a failed entry fails its caller only", "host/ledger.TestInvalidEntryFailsOnlyItsCaller", ""},
		{44, 44, "an entry's time is that of its call", "TestStartIsCommittedBeforeCommandIsSent", ""},
		{45, 47, "recorded execs are answered without the sandbox, in a row, and then the next runs", "TestResume", ""},
		{48, 48, "of parallel execs, those run that were not recorded", "TestReplayHoles", ""},
		{49, 50, "an exec records its start, output and end, under the sandbox's id", "TestExecPayloads", ""},
		{51, 52, "a strict exec's exit code is an error, another's is not", "TestExecStrict", ""},
		{53, 57, "hooks are called in order, and one that panics does not disturb the others", "TestHooks", ""},
		{58, 63, "rules that came and went add up", "TestEgressFold", ""},
	}
}

func clientBehaviours() []behaviour {
	return []behaviour{
		{64, 64, "making a client does nothing yet", "TestNewChecksOptions", ""},
		{65, 65, "calls at the same time open the ledger once", "host.TestSandboxesAtOnce host.TestProcessesStartTogether", ""},
		{66, 72, "sandboxes are listed, by name and otherwise, found and deleted", "TestSandboxes TestCreateRecords", ""},
		{73, 74, "places are counted, and waited for in turn", "TestSlots TestPlacesAreFair", ""},
		{75, 75, "without a limit nobody waits", "TestFork", ""},
		{76, 80, "environments are described, listed and forgotten", "TestEnvironment", ""},
		{81, 82, "builds at the same time are one, and later ones are others", "TestEnvironment", ""},
		{83, 83, "a restored sandbox can be forked", "TestRestoreSnapshot", ""},
		{84, 85, "a connected one can be forked if its resources are known", "TestConnect", ""},
		{86, 86, "identity is recorded, and inherited by forks", "TestFork TestCreateRecords", ""},
		{87, 87, "and by resumed sandboxes", "TestResume", ""},
		{88, 88, "and by restored ones and their forks", "TestRestoreSnapshot", ""},
		{89, 91, "a fork's own options win, and its forks inherit from it", "TestFork", ""},
		{92, 93, "and so with environments", "TestEnvironment", ""},
		{94, 94, "what is not given is absent", "TestCreateRecords", ""},
	}
}

func ledgerBehaviours() []behaviour {
	return []behaviour{
		{95, 95, "an entry is read back", "suite:append/round-trip", ""},
		{96, 97, "by time, and by name and id", "suite:read/order suite:read/scope", ""},
		{98, 101, "payloads and branches, and that there is none", "suite:append/round-trip suite:append/null", ""},
		{102, 104, "the last checkpoint, if there is one", "suite:checkpoint/none suite:checkpoint/last", ""},
		{105, 108, "details of unknown, ended and running sandboxes, with or without a run id", "suite:sandbox/unknown suite:sandbox/details suite:sandbox/fallback", ""},
		{109, 113, "listings by name, status and limit", "suite:list/name suite:list/status suite:list/limit suite:list/order", ""},
		{114, 115, "deletion of one sandbox's entries", "suite:sandbox/delete", ""},
		{116, 123, "environments", "suite:environment/unknown suite:environment/round-trip suite:environment/upsert suite:environment/delete suite:environment/list", ""},
		{124, 124, "folders that are missing are made", "host/internal/capability/sqlite.TestMode", ""},
		{125, 131, "old names become new ones, once, and nothing else changes", "host/internal/adapter.TestUpgradeAtOnce host/internal/adapter.TestPostgresMigrations", ""},
		{132, 139, "which names, in one statement that touches no other row", "host/store.TestCurrentName host/internal/adapter.TestPostgresMigrations", ""},
	}
}

func wireBehaviours() []behaviour {
	const wire = "host/opensandbox."
	return []behaviour{
		{140, 141, "listings walk the pages", wire + "TestListWalksPages", ""},
		{142, 142, "snapshots, too", wire + "TestListSnapshots", ""},
		{143, 144, "renewing sends a time in the server's form", wire + "TestRenew", ""},
		{145, 150, "all forms of refusals are read", wire + "TestErrorBodies", ""},
		{151, 151, "a stream ends with its terminal event", wire + "TestStopsAtTerminalEvent", ""},
		{152, 153, "connections that are left are cut once", "", noDangling},
		{154, 155, "terminals are made, or refused with the server's words", wire + "TestPTYSessions " + wire + "TestPTYRefusals", ""},
		{156, 156, "the connection shows its token", wire + "TestPTYRecordings", ""},
		{157, 160, "input, size, signals, and the end of the connection", wire + "TestPTYInput " + wire + "TestPTYReconnects", ""},
		{161, 163, "output without its mark, the exit code, and what says nothing", wire + "TestPTYRecordings", ""},
		{164, 165, "a connection that breaks tells no exit code, and an end comes once", wire + "TestPTYIsLost TestTerminalReconnects", ""},
		{166, 169, "network rules are added, removed, read and refused", wire + "TestEgressPolicy " + wire + "TestEgressErrors", ""},
		{170, 170, "an address without a scheme is HTTP", wire + "TestEndpointForms", ""},
		{171, 174, "which targets are taken", "TestTargets", ""},
		{175, 180, "bindings of credentials, each way and refused", "host/credential.TestBindingJSON host/credential.TestBindingRefused TestCredentials", ""},
	}
}

func wholeBehaviours() []behaviour {
	return []behaviour{
		{181, 181, "output, exit code, and a clean end", "TestExecResults TestClose", ""},
		{182, 182, "files that a command and the client wrote", "TestFiles TestFilesAndRenewal", ""},
		{183, 185, "output that is used later, and exit codes strict or not", "TestExecResults TestExecStrict", ""},
		{186, 186, "a script of several lines in bash", "TestExecResults", ""},
		{187, 187, "closing twice", "TestClose", ""},
		{188, 188, "a command that is given up in time", "TestExecTimeout", ""},
		{189, 189, "going on from a checkpoint", "TestResume", ""},
		{190, 190, "two forks at once", "TestForksAtOnce", ""},
		{191, 191, "a shell that goes on where it was", "TestResumeInteractive", ""},
		{192, 192, "code in contexts of its own", "TestCode host/engine.TestWireCode", ""},
		{193, 193, "environments from the first build on", "TestEnvironment", ""},
		{194, 194, "all that can be done with files", "TestFiles TestCopyTree", ""},
		{195, 195, "a server in the sandbox is reached", "TestPorts TestForwardWebSocket", ""},
		{196, 196, "diagnostics, metrics, pauses and sessions", "TestMetrics TestPauseAndUnpause TestSession", ""},
		{197, 197, "workflows", "", noAgents},
		{198, 199, "credentials on the wire, and of forks", "host/engine.TestCredentialInjection TestCredentials TestForkInheritsItsLock", ""},
		{200, 200, "a policy of names and networks", "host/engine.TestEgress", ""},
		{201, 201, "a target that is none is refused here", "TestNetworkRules", ""},
		{202, 202, "rules that come and go decide what is reached", "host/engine.TestEgress", ""},
		{203, 204, "rules are shown, and are there after resuming", "TestNetworkRules", ""},
		{205, 206, "credentials in queries and headers", "host/engine.TestCredentialInjection host/internal/engine/intercept.TestSubstitution", ""},
		{207, 209, "approval of hosts", "", noAgents},
	}
}

// Every behaviour is shown by a test that exists, or it is said why not.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	known := make(map[string]map[string]bool)
	next := 1
	for _, list := range [][]behaviour{
		execBehaviours(), handleBehaviours(), clientBehaviours(), ledgerBehaviours(), wireBehaviours(), wholeBehaviours(),
	} {
		for _, b := range list {
			if b.from != next || b.to < b.from {
				t.Errorf("%d-%d, %s: expected %d", b.from, b.to, b.what, next)
			}
			next = b.to + 1
			if b.what == "" || (b.tests == "") == (b.not == "") {
				t.Errorf("%d: it wants words, and either tests or a reason", b.from)
			}
			for name := range strings.FieldsSeq(b.tests) {
				if !shown(t, known, name) {
					t.Errorf("%d-%d, %s: there is no %s", b.from, b.to, b.what, name)
				}
			}
		}
	}
	const all = 209
	if next != all+1 {
		t.Errorf("the last one is %d", next-1)
	}
}

// shown reports whether there is such a test.
func shown(t *testing.T, known map[string]map[string]bool, name string) bool {
	t.Helper()
	if text, ok := strings.CutPrefix(name, "suite:"); ok {
		return names(t, known, "../store/storetest")[`"`+text+`"`]
	}
	folder := "host/sandbox"
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		folder, name = name[:at], name[at+1:]
	}
	return names(t, known, "../../"+folder)[name]
}

// names returns a folder's functions and its strings.
func names(t *testing.T, known map[string]map[string]bool, folder string) map[string]bool {
	t.Helper()
	if found, ok := known[folder]; ok {
		return found
	}
	found := make(map[string]bool)
	known[folder] = found
	pattern := "*_test.go"
	if strings.HasSuffix(folder, "storetest") {
		pattern = "cases_*.go"
	}
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	must(t, err)
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				found[n.Name.Name] = n.Recv == nil
			case *ast.BasicLit:
				found[n.Value] = true
			}
			return true
		})
	}
	return found
}
