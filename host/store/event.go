package store

import "strings"

// The events of the ledger, in the reference's dotted spelling.
const (
	EventSandboxCreated    = "sandbox.created"
	EventCheckpointCreated = "sandbox.checkpoint_created"
	EventSandboxPaused     = "sandbox.paused"
	EventSandboxResumed    = "sandbox.resumed"
	EventSandboxClosed     = "sandbox.closed"
	EventExecStarted       = "exec.started"
	EventExecOutput        = "exec.output"
	EventExecCompleted     = "exec.completed"
	EventExecDetached      = "exec.detached" // ours: it goes on, and nobody follows it
	EventCredentialBound   = "credential.bound"
	EventCredentialRevoked = "credential.revoked"
	EventCredentialTested  = "credential.tested" // ours: a request is made to see what it does
	EventEgressRuleAdded   = "egress.rule_added"
	EventEgressRuleRemoved = "egress.rule_removed"
)

// Reserved reports whether only the host itself may emit an event of this name.
func Reserved(event string) bool {
	for _, prefix := range [...]string{"sandbox.", "exec.", "credential.", "egress."} {
		if strings.HasPrefix(event, prefix) {
			return true
		}
	}
	return false
}

// CurrentName returns the dotted spelling of an event that an older generation of the reference
// wrote in snake case, and any other name as it is. A ledger that was opened read-only, or that an
// old program still writes to, has both.
func CurrentName(event string) string {
	switch event {
	case "sandbox_created":
		return EventSandboxCreated
	case "checkpoint_created", "snapshot":
		return EventCheckpointCreated
	case "sandbox_paused":
		return EventSandboxPaused
	case "sandbox_resumed":
		return EventSandboxResumed
	case "sandbox_closed":
		return EventSandboxClosed
	case "exec_start":
		return EventExecStarted
	case "exec_event":
		return EventExecOutput
	case "exec_complete":
		return EventExecCompleted
	case "credential_bound":
		return EventCredentialBound
	case "credential_revoked":
		return EventCredentialRevoked
	case "egress_rule_added":
		return EventEgressRuleAdded
	case "egress_rule_removed":
		return EventEgressRuleRemoved
	default:
		return event
	}
}
