package lifecycle

import (
	"context"
	"strings"
)

// eventsAndAttempts are the times that matter in a sandbox's life, and the latest of what it tried to
// reach and didn't get, or got with a credential.
func (s *sandbox) eventsAndAttempts(ctx context.Context, limit int) string {
	var out strings.Builder
	out.WriteString(s.events())
	entries, err := s.shim.Attempts(ctx)
	if err != nil {
		out.WriteString("\nEgress:     [error] " + err.Error())
		return out.String()
	}
	for _, e := range entries[max(0, len(entries)-limit):] {
		out.WriteString("\nEgress:     " + e.String())
	}
	return out.String()
}
