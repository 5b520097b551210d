package journal

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Standing is what is known of a run whose files are found.
type Standing uint8

// The standings.
const (
	Unknown Standing = iota // nobody knows the run
	Open                    // it has not ended
	Ended
)

// Defaults of a sweep.
const (
	DefaultOrphanTTL  = time.Hour
	DefaultMaxDeletes = 200
)

// SweepOptions say what to sweep.
type SweepOptions struct {
	Dir string
	// Lookup says where a run stands. An error keeps its files.
	Lookup func(ctx context.Context, runID string) (Standing, error)
	// OrphanTTL is how old the files of an unknown run must be. Default 1 h. Their age is taken by the
	// sandbox's own clock.
	OrphanTTL time.Duration
	// MaxDeletes is how many runs' files one sweep deletes. Default 200.
	MaxDeletes int
}

// Why files are kept.
const (
	KeptUndecodable = "undecodable-name"
	KeptMaxDeletes  = "max-deletes"
	KeptStoreError  = "store-error"
	KeptNotEnded    = "non-terminal"
	KeptNoAges      = "age-gate-unavailable"
	KeptNoAge       = "age-gate-missing-entry"
	KeptTooRecent   = "orphan-too-recent"
	KeptNotDeleted  = "delete-failed"
)

// Kept is files that a sweep left.
type Kept struct {
	RunID  string   `json:"runId,omitempty"` // empty where the name says none
	Files  []string `json:"files"`
	Reason string   `json:"reason"`
}

// Swept is what a sweep did.
type Swept struct {
	Listed  int      `json:"listed"` // files
	RunIDs  int      `json:"runIds"`
	Deleted []string `json:"deleted,omitempty"` // runs
	Kept    []Kept   `json:"kept,omitempty"`
	// Aged says whether the files' ages could be read.
	Aged     bool    `json:"aged"`
	Failures []error `json:"-"`
}

// Sweep deletes the files of runs that have ended, and of unknown ones that are old enough. It never
// fails: what went wrong is told, and the files are kept.
func Sweep(ctx context.Context, shell Shell, opts SweepOptions) *Swept {
	if opts.OrphanTTL == 0 {
		opts.OrphanTTL = DefaultOrphanTTL
	}
	if opts.MaxDeletes == 0 {
		opts.MaxDeletes = DefaultMaxDeletes
	}
	swept := new(Swept)
	names, err := listNames(ctx, shell, opts.Dir)
	if err != nil {
		swept.Failures = append(swept.Failures, err)
		return swept
	}
	ages, err := listAges(ctx, shell, opts.Dir)
	if err != nil {
		swept.Failures = append(swept.Failures, err)
	}
	swept.Listed, swept.Aged = len(names), err == nil
	files := map[string][]string{}
	var order []string
	for _, name := range names {
		id, err := DecodeFile(name)
		if err != nil {
			swept.Kept = append(swept.Kept, Kept{Files: []string{name}, Reason: KeptUndecodable})
			continue
		}
		if files[id] == nil {
			order = append(order, id)
		}
		files[id] = append(files[id], name)
	}
	swept.RunIDs = len(order)
	s := sweeper{shell: shell, opts: opts, ages: ages, swept: swept}
	for _, id := range order {
		s.run(ctx, id, files[id])
	}
	return swept
}

type sweeper struct {
	shell Shell
	opts  SweepOptions
	ages  map[string]time.Duration
	swept *Swept
}

func (s *sweeper) run(ctx context.Context, id string, files []string) {
	reason := s.reason(ctx, id, files)
	if reason == "" {
		paths := make([]string, len(files))
		for i, file := range files {
			paths[i] = path.Join(s.opts.Dir, file)
		}
		if err := remove(ctx, s.shell, paths...); err != nil {
			s.swept.Failures = append(s.swept.Failures, fmt.Errorf("run %q: %w", id, err))
			reason = KeptNotDeleted
		}
	}
	if reason != "" {
		s.swept.Kept = append(s.swept.Kept, Kept{RunID: id, Files: files, Reason: reason})
		return
	}
	s.swept.Deleted = append(s.swept.Deleted, id)
}

// reason is why a run's files are kept, empty when they are to be deleted.
func (s *sweeper) reason(ctx context.Context, id string, files []string) string {
	if len(s.swept.Deleted) >= s.opts.MaxDeletes {
		return KeptMaxDeletes
	}
	standing, err := s.opts.Lookup(ctx, id)
	switch {
	case err != nil:
		s.swept.Failures = append(s.swept.Failures, fmt.Errorf("asking for run %q: %w", id, err))
		return KeptStoreError
	case standing == Open:
		return KeptNotEnded
	case standing == Ended:
		return ""
	case !s.swept.Aged:
		return KeptNoAges
	}
	for _, file := range files {
		age, ok := s.ages[file]
		if !ok {
			return KeptNoAge
		}
		if age < s.opts.OrphanTTL {
			return KeptTooRecent
		}
	}
	return ""
}

// listNames lists the files of a directory; one that is not there has none.
func listNames(ctx context.Context, shell Shell, dir string) ([]string, error) {
	out, code, err := shell.Exec(ctx, fmt.Sprintf("[ -d %s ] || exit 0; ls -1 %s", quote(dir), quote(dir)))
	if err == nil && code != 0 {
		err = fmt.Errorf("%w: ls ended with %d", ErrShell, code)
	}
	if err != nil {
		return nil, fmt.Errorf("listing journals: %w", err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(name string) bool { return name == "" }), nil
}

// listAges lists how long ago the files of a directory were written, by the sandbox's clock. The first line
// is that clock and the second one the directory's own: without them nothing is known.
func listAges(ctx context.Context, shell Shell, dir string) (map[string]time.Duration, error) {
	const op = "listing ages of journals"
	text := fmt.Sprintf("date +%%s; cd %s || exit 0; stat -c '%%Y %%n' . * 2>/dev/null; exit 0", quote(dir))
	out, code, err := shell.Exec(ctx, text)
	if err == nil && code != 0 {
		err = fmt.Errorf("%w with %d", ErrShell, code)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	first, rest, _ := strings.Cut(string(out), "\n")
	now, err := strconv.ParseInt(strings.TrimSpace(first), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s: the sandbox's clock: %w", op, err)
	}
	ages, witness := map[string]time.Duration{}, false
	for line := range strings.SplitSeq(rest, "\n") {
		when, name, ok := strings.Cut(line, " ")
		at, err := strconv.ParseInt(when, 10, 64)
		if !ok || err != nil {
			continue
		}
		if name == "." {
			witness = true
			continue
		}
		ages[name] = time.Duration(now-at) * time.Second
	}
	if !witness {
		return nil, fmt.Errorf("%s: %w: the directory itself is not listed", op, ErrShell)
	}
	return ages, nil
}
