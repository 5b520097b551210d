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
	EventCredentialBound   = "credential.bound"
	EventCredentialRevoked = "credential.revoked"
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
