package sandbox

import (
	"sync"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

// replay is what a resumed sandbox answers from the ledger.
type replay struct {
	lenient bool // differences are logged, not errors
	keys    []ledger.DigestKey

	mu      sync.Mutex
	results map[int64]*ledger.Exec
	pending map[int64]*ledger.Exec // had started, and not ended
}

// take returns the recorded exec at a position, if it has one that had completed and that the spec
// agrees with. Each is taken once.
func (r *replay) take(h *Handle, seq int64, spec ledger.ExecSpec) (*ledger.Exec, error) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded, ok := r.results[seq]
	if !ok {
		return nil, nil
	}
	if divergence := r.compare(h, recorded, spec); divergence != nil {
		if !r.lenient {
			return nil, divergence
		}
		h.log.Warn("answering from the ledger although the run differs from it", "seq", seq, "err", divergence)
	}
	delete(r.results, seq)
	return recorded, nil
}

// unfinished returns the program on a terminal that was running at the checkpoint under a seq, if it
// is the one that is asked for.
func (r *replay) unfinished(h *Handle, seq int64, spec ledger.ExecSpec) (*ledger.Exec, error) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded, ok := r.pending[seq]
	if !ok || recorded.Kind != ledger.KindInteractive {
		return nil, nil
	}
	if divergence := r.compare(h, recorded, spec); divergence != nil {
		if !r.lenient {
			return nil, divergence
		}
		h.log.Warn("going on with a terminal although the run differs from the ledger", "seq", seq, "err", divergence)
	}
	delete(r.pending, seq)
	return recorded, nil
}

func (r *replay) compare(h *Handle, recorded *ledger.Exec, spec ledger.ExecSpec) error {
	if recorded.Kind == "" {
		return nil // its start is not in the ledger: there is nothing to compare with
	}
	same := recorded.Kind == spec.Kind && sameCommand(recorded.Command, spec.Command)
	if same && ledger.CompareDigest(recorded.Digest, spec, r.keys...) != ledger.Different {
		return nil
	}
	return &DivergenceError{
		SandboxID: h.id,
		Seq:       recorded.Seq,
		Recorded:  Side{Kind: recorded.Kind, Command: recorded.Command, Digest: recorded.Digest},
		Asked:     Side{Kind: spec.Kind, Command: h.redacted(spec.Command), Digest: h.c.opts.DigestKey.Digest(spec)},
		Cwd:       spec.Cwd, Shell: spec.Shell, Env: names(spec.Env),
	}
}

func (c *Client) newReplay(from *ledger.Replay, lenient bool) *replay {
	for _, problem := range from.Problems {
		c.log.Warn("a row of the ledger could not be used for replay", "sandbox", from.Key.SandboxID, "name", from.Key.Name, "problem", problem.String())
	}
	if from.Skipped > len(from.Problems) {
		c.log.Warn("more rows of the ledger could not be used for replay", "sandbox", from.Key.SandboxID, "count", from.Skipped-len(from.Problems))
	}
	return &replay{
		lenient: lenient,
		keys:    append([]ledger.DigestKey{c.opts.DigestKey}, c.opts.OldDigestKeys...),
		results: from.Results, pending: from.Unfinished,
	}
}
