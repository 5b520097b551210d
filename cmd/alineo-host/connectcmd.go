package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// connected is what connect prints.
type connected struct {
	SandboxID string     `json:"sandboxId"`
	Name      string     `json:"name"`
	State     string     `json:"state"`
	Answers   bool       `json:"answers"`
	Image     string     `json:"image,omitempty"`
	Snapshot  string     `json:"snapshotId,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RunID     string     `json:"runId,omitempty"`
	Execs     int64      `json:"execCount"`
	Recorded  bool       `json:"recorded"`
	CPU       string     `json:"cpu,omitempty"`
	Memory    string     `json:"memory,omitempty"`
}

func newConnect(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "connect ID",
		Short: "Check that a sandbox can be worked with, and say what it is",
		Long: `connect asks the server for a sandbox, checks that it answers, and says what is known about it, there
and in the ledger. It changes nothing. One that the ledger does not know, because another client
made it, is found by its whole id.

It exits with 0 when the sandbox runs and answers, and with 1 otherwise.`,
		Example:           "  alineo-host connect 6f1c2d3e\n  alineo-host connect --json 6f1c2d3e",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLooker(cmd.Context(), func(ctx context.Context, l *looker) error {
				found, err := l.describe(ctx, args[0])
				if err != nil {
					return err
				}
				if err := a.printConnected(found); err != nil {
					return err
				}
				if !found.Answers {
					return &exitError{code: exitFailed}
				}
				return nil
			})
		},
	}
}

func (l *looker) describe(ctx context.Context, id string) (*connected, error) {
	details, err := l.a.findSandbox(ctx, l.host.Store(), id)
	recorded := err == nil
	if err != nil {
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		details.SandboxID = id
	}
	box, serverErr := l.wire.GetSandbox(ctx, details.SandboxID)
	switch {
	case serverErr != nil && !recorded && errors.Is(serverErr, opensandbox.ErrNotFound):
		return nil, err // neither the server nor the ledger knows it
	case serverErr != nil:
		return nil, l.a.connectHint(ctx, l.host, fmt.Errorf("sandbox %s: %w", details.SandboxID, serverErr), details.SandboxID)
	}
	found := &connected{
		SandboxID: box.ID, Name: details.Name, State: box.Status.State, Snapshot: box.SnapshotID,
		CreatedAt: box.CreatedAt.Time, RunID: details.RunID, Execs: details.ExecCount, Recorded: recorded,
	}
	if box.Image != nil {
		found.Image = box.Image.URI
	}
	if box.ExpiresAt != nil {
		found.ExpiresAt = &box.ExpiresAt.Time
	}
	if recorded {
		given, err := recordedResources(ctx, l.host.Store(), store.Key{Name: details.Name, SandboxID: box.ID}, sandbox.Resources{})
		if err != nil {
			return nil, err
		}
		found.CPU, found.Memory = given.CPU, given.Memory
	}
	if found.State != opensandbox.StateRunning {
		return found, nil
	}
	sb, err := l.client.Connect(ctx, box.ID, sandbox.ConnectOptions{Name: details.Name, LookOnly: true})
	if err != nil {
		return nil, l.a.connectHint(ctx, l.host, err, box.ID)
	}
	found.Answers = true
	return found, letGo(ctx, sb, nil)
}

func (a *app) printConnected(c *connected) error {
	if a.out.json {
		return a.out.data(c)
	}
	state := c.State
	if c.Answers {
		state += ", it answers"
	}
	execs := strconv.FormatInt(c.Execs, 10)
	if !c.Recorded {
		execs = "not in the ledger"
	}
	expires := "never"
	if c.ExpiresAt != nil {
		expires = c.ExpiresAt.Local().Format(time.DateTime)
	}
	rows := [][]string{
		{"id", c.SandboxID},
		{"name", orDash(c.Name)},
		{"state", state},
		{"image", orDash(c.Image)},
	}
	if c.Snapshot != "" {
		rows = append(rows, []string{"snapshot", c.Snapshot})
	}
	rows = append(rows, [][]string{
		{"created", c.CreatedAt.Local().Format(time.DateTime)},
		{"expires", expires},
		{"cpu", orDash(c.CPU)},
		{"memory", orDash(c.Memory)},
		{"run", orDash(c.RunID)},
		{"execs", execs},
	}...)
	return a.out.table([]string{"FIELD", "VALUE"}, rows)
}
