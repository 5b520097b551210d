package sandbox_test

import (
	"slices"
	"strings"
	"testing"
)

// defect is something that went wrong in the reference client, and that must not in this one: tests and
// not are as in behaviour.
type defect struct{ what, tests, not string }

const wireTests = "host/opensandbox."

// ledgerDefects are what happens when the ledger fails, or is not read as it should be.
func ledgerDefects() []defect {
	return []defect{
		// When an entry can't be appended.
		{"sandbox.created: the container is deleted and its place free", "TestCreateFailuresLeaveNothing TestOriginsLeaveNothing", ""},
		{"exec.started: the command is not sent, and its position taken", "TestLedgerFailures", ""},
		{"exec.output: the exec fails, and its command is ended", "TestLedgerFailures TestLedgerFailureEndsCommand", ""},
		{"exec.completed: the exec fails, its readers end well", "TestLedgerFailures", ""},
		{"a terminal's input and output: both tell", "TestTerminalLedgerFails TestAttachEndsWhenTypingFails", ""},
		{"sandbox.checkpoint_created: the snapshot is deleted", "TestCheckpointThatIsNotRecorded", ""},
		{"sandbox.closed: the place is free, and closing again says the same", "TestCloseFailures", ""},
		{"credential.bound and revoked: nothing holds that is not recorded", "TestCredentialFailures", ""},
		{"sandbox.paused and resumed: the handle knows what the sandbox is", "TestPauseThatIsNotRecorded", ""},

		// Storage.
		{"appends of one sandbox overtake each other", "host/ledger.TestManyAtOnce", ""},
		{"the database's folder is missing, or somebody else just makes it", "host/internal/capability/sqlite.TestMode host.TestProcessesStartTogether", ""},
		{"a sort at every read", "suite:read/order host/internal/adapter.TestUpgradeAtOnce", ""},
		{"whether a commit lasts is left to the driver", "host/internal/capability/sqlite.TestSynchronous", ""},
		{"old names of events are not found", "host/internal/adapter.TestMigrations host/internal/adapter.TestPostgresMigrations TestResumeOfForeignLedger", ""},
		{"entries of one millisecond change places", "suite:read/order", ""},
		{"another layer's event is renamed", "host/store.TestCurrentName", ""},
		{"one malformed row makes every listing fail", "host/internal/adapter.TestMalformedRowsAreNotFatalToListings", ""},
		{"a failed connect is remembered for good", "host/internal/adapter.TestPostgresComesUpLater host.TestProcessesBusy", ""},

		// Resuming.
		{"of a tag that was used twice the last checkpoint counts", "TestResumeTags", ""},
		{"parallel execs leave holes before a checkpoint", "TestReplayHoles", ""},
		{"a resumed sandbox that is resumed keeps its resources and what its ancestors ran", "TestLineage", ""},
		{"rules and credentials from after the checkpoint", "TestEgressFold TestResumeBindsAgain", ""},
		{"a position that two processes used", "host/ledger.TestReplayCompletedTwice TestConnect", ""},
		{"no run id, no resources, unknown events, no payload", "TestResumeOfForeignLedger host/ledger.TestReplayTolerates", ""},
		{"a command that is not the recorded one is answered all the same", "TestDivergence", ""},
		{"an exec that had not completed runs under its position", "TestReplayHoles host/ledger.TestReplayTolerates", ""},
		{"a resume that fails half-way leaves a container", "TestOriginsLeaveNothing", ""},
	}
}

func clientDefects() []defect {
	return []defect{
		// Execs and streams.
		{"a sandbox that runs and does not answer yet", "TestCreateWaitsUntilRunning TestCreateFailuresLeaveNothing", ""},
		{"waiting for the stream's end is a second late", wireTests + "TestStopsAtTerminalEvent", ""},
		{"streams that are left keep the program alive", "TestClose TestExecCancel", ""},
		{"polling once a second", "TestCreateWaitsUntilRunning", ""},
		{"quotes and lines of a command are broken on the way", "TestCommandLine TestExecResults", ""},
		{"a terminal's first input is lost", "TestResumeInteractive", ""},
		{"input is recorded before the start", "TestInteractive", ""},
		{"watched metrics never come, and have other fields", "TestMetrics " + wireTests + "TestWatchMetricsIsLive", ""},
		{"binary files are corrupted", "TestFiles TestTransferOfALostFile", ""},
		{"first uses at the same time each ask for the address", wireTests + "TestEndpointIsAskedOnce", ""},
		{"an end that was not told is exit code 0", wireTests + "TestCapturesCutAnywhere TestLostStream", ""},

		// The control server.
		{"lists are envelopes of pages", wireTests + "TestListWalksPages " + wireTests + "TestListSnapshots", ""},
		{"renewing without a body", wireTests + "TestRenew", ""},
		{"raw JSON as an error's text", wireTests + "TestErrorBodies", ""},
		{"resources are left out, lifetimes too short", "TestCreateSendsEverything TestCreateFailuresLeaveNothing " + wireTests + "TestCreateChecksLocally", ""},

		// Sandboxes.
		{"restored and connected sandboxes can't be forked", "TestRestoreSnapshot TestConnect", ""},
		{"environments lose whose sandbox it is", "TestEnvironment", ""},
		{"forks lose credentials", "TestForkInheritsItsLock TestForkRefusesToLoseCredentials", ""},
		{"query and path injection throws", "host/credential.TestBindingJSON host/engine.TestCredentialInjection", ""},
		{"a boot rule that was deleted comes back, or late", "TestEgressFold TestNetworkRules", ""},
		{"an empty answer of the sidecar", wireTests + "TestEgressPolicy", ""},
		{"IPv4-mapped targets", "TestTargets", ""},
		{"a paused sandbox can't be connected to", "TestPauseAndUnpause", ""},
		{"one of several forks fails, and the others are lost", "TestForksAtOnce", ""},
		{"a snapshot misses what was written last", "host/engine.TestSnapshotWhileWriting", ""},
		{"more sandboxes than the limit, and places that never come back", "TestSlots TestPlacesAreFair TestCloseFailures TestOriginsLeaveNothing", ""},
		{"a fork waits for ever at a limit of one", "TestForkLimit", ""},
		{"two processes count from 1", "TestConnect", ""},
		{"there is one server that it works with", "", "all tests of this package run on the embedded engine"},
		{"hosts in capitals, repeated approvals, turns' ends, leaked agents, dropped permissions", "", noAgents},
	}
}

// interchange is what it takes that the reference and this client read and go on with what the other wrote.
func interchange() []defect {
	return []defect{
		{"the same tables and settings, before anything is read", "host/internal/adapter.TestUpgradeAtOnce host/internal/capability/sqlite.TestSynchronous host/internal/adapter.TestReferenceUsesOurs host/internal/adapter.TestTablesAreTheReferences", ""},
		{"times are those of the calls, in milliseconds, and never go back", "TestStartIsCommittedBeforeCommandIsSent TestExecPayloads host/ledger.TestAppendIsReadBack", ""},
		{"names of events and keys, and what is left out", "TestPayloads TestCreateRecords TestFork TestPauseAndUnpause TestClose TestInteractive", ""},
		{"frames as they came, joined by nothing", "TestRecordedStreams TestOddFrames", ""},
		{"every call takes a position, also one that is refused", "TestExecRefused TestPauseAndUnpause TestSession", ""},
		{"first the ledger, then the reader, in order, and a failure is its caller's", "TestOutputIsCommittedBeforeItIsRead TestExecsInParallel host/ledger.TestInvalidEntryFailsOnlyItsCaller", ""},
		{"what others wrote is resumed: without resources or run id, with old names and unknown events", "host.TestReferenceLedgersAreResumed TestResumeOfForeignLedger host/ledger.TestReplayOfReferenceLedgers host/ledger.TestReplayTolerates", ""},
		{"nothing but JSON and UTF-8 is written", "host/ledger.TestPayloadsAreChecked host/ledger.TestEntryTextsAreChecked", ""},
		{"no secret in rows, logs and errors", "TestCanary TestNoOutputHasTheValue TestNoErrorOrLogHasTheValue", ""},
		{"large histories are read in pages, and one sandbox is found without listing all", "suite:read/paging suite:sandbox/details host/ledger.TestReadSandboxIsBounded", ""},
		{"names from the beginnings of ids", "TestCreateRecords TestFork TestEnvironment", ""},
		{"two programs on one file", "host.TestProcessesBusy host/ledger.TestTwoWritersOnOneFile host/ledger.TestVerifyForeignRows", ""},
	}
}

// Every defect is shown not to be there, and every rule of the interchange to hold, by a test that exists.
func TestDefects(t *testing.T) {
	t.Parallel()
	known := make(map[string]map[string]bool)
	for _, d := range slices.Concat(ledgerDefects(), clientDefects(), interchange()) {
		if (d.tests == "") == (d.not == "") {
			t.Errorf("%s: it wants either tests or a reason", d.what)
		}
		for name := range strings.FieldsSeq(d.tests) {
			if !shown(t, known, name) {
				t.Errorf("%s: there is no %s", d.what, name)
			}
		}
	}
}
