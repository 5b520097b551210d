package ledgerkit

import "strings"

// Conditions on events. Reading accepts the older spelling too: the reference may have written behind
// our back.
const (
	IsCreated    = `event IN ('sandbox.created', 'sandbox_created')`
	IsClosed     = `event IN ('sandbox.closed', 'sandbox_closed')`
	IsCompleted  = `event IN ('exec.completed', 'exec_complete')`
	IsCheckpoint = `event IN ('sandbox.checkpoint_created', 'checkpoint_created', 'snapshot')`
)

// Columns of the reference's tables, in the order in which the ABI wants them.
const (
	EventColumns       = `id, sandbox_id, name, step_idx, branch, event, payload, error, ts`
	EnvironmentColumns = `name, snapshot_id, image, built_at`
)

// oldNames are the event names of the reference's older generation and what they are called now.
var oldNames = [...][2]string{
	{"sandbox_created", "sandbox.created"},
	{"sandbox_closed", "sandbox.closed"},
	{"sandbox_paused", "sandbox.paused"},
	{"sandbox_resumed", "sandbox.resumed"},
	{"checkpoint_created", "sandbox.checkpoint_created"},
	{"exec_start", "exec.started"},
	{"exec_event", "exec.output"},
	{"exec_complete", "exec.completed"},
	{"egress_rule_added", "egress.rule_added"},
	{"egress_rule_removed", "egress.rule_removed"},
	{"credential_bound", "credential.bound"},
	{"credential_revoked", "credential.revoked"},
	{"permission_requested", "permission.requested"},
	{"permission_resolved", "permission.resolved"},
	{"run_started", "workflow.started"},
	{"workflow_complete", "workflow.completed"},
	{"workflow_failed", "workflow.failed"},
	{"step_start", "step.started"},
	{"step_complete", "step.completed"},
	{"step_failed", "step.failed"},
	{"step_rolled_back", "step.rolled_back"},
	{"snapshot", "sandbox.checkpoint_created"},
	{"checkpoint", "step.checkpointed"},
}

// RenameSQL renames every old name of a table of events in one statement that touches no other row, and
// none of what a segment holds: an event of the host's own may have such a name, and is in a hash.
func RenameSQL(table, segments string) string {
	var cases, names strings.Builder
	for i := range oldNames {
		was, is := oldNames[i][0], oldNames[i][1]
		cases.WriteString(" WHEN '" + was + "' THEN '" + is + "'")
		if i > 0 {
			names.WriteString(", ")
		}
		names.WriteString("'" + was + "'")
	}
	return "UPDATE " + table + " SET event = CASE event" + cases.String() + " ELSE event END WHERE event IN (" + names.String() + ")" +
		" AND id < coalesce((SELECT min(first_id) FROM " + segments + "), 9223372036854775807)"
}
