package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Reuse says who shares a sandbox.
type Reuse string

// The ways to share a sandbox.
const (
	ReuseThread Reuse = ""     // the runs of a thread, one after the other or at once
	ReuseNone   Reuse = "none" // nobody: it ends with its run
)

// Tenant is whose thread it is, where thread ids alone don't say.
type Tenant struct {
	UserID string `json:"userId,omitempty"`
	OrgID  string `json:"orgId,omitempty"`
}

// Spec says what sandbox a run needs. Any difference in it, but for secrets and lifetimes, is another
// sandbox.
type Spec struct {
	// ID names the definition, so that two of the same content can be told apart; it may be empty.
	ID string
	// Sandbox is how it is made. Its Name, RunID, ResourceID, TeamID, Hooks, Lifetime, Metadata and ImageAuth
	// don't distinguish sandboxes.
	Sandbox sandbox.CreateOptions
	// Setup is shell commands that prepare a new sandbox, in order. One that fails destroys it.
	Setup []string
	Reuse Reuse
	// MaxIdle is after how long without a run a sandbox is replaced; 0: never.
	MaxIdle time.Duration
	// DestroyOnComplete ends the sandbox with the run's success or failure. A run that is aborted always
	// does.
	DestroyOnComplete bool
	Tenant            Tenant
}

// keyVersion begins what is hashed, and the key. It changes with the encoding.
const keyVersion = "alineo-host/instance-key/v1"

// KeyPrefix begins every key of [Key]; a run with another sandbox key is driven by another program.
const KeyPrefix = "v1-"

// foreign tells whether a run's sandbox has a key of another program's, which drives the run and ends it: to us the
// sandbox would only seem to be gone.
func foreign(run store.Run) bool {
	return run.SandboxKey != nil && !strings.HasPrefix(*run.SandboxKey, KeyPrefix)
}

// Key returns the key under which the sandbox of a thread, or with ReuseNone of a run, is found again:
// a SHA-256 over a canonical encoding. What is absent, empty or nil is the same.
func Key(provider, threadID, runID string, spec Spec) (string, error) {
	fields := map[string]any{
		"provider": provider, "thread": threadID, "definition": spec.ID,
		"tenant": spec.Tenant, "setup": spec.Setup,
		"image": spec.Sandbox.Image, "entrypoint": spec.Sandbox.Entrypoint, "resources": spec.Sandbox.Resources,
		"env": spec.Sandbox.Env, "shell": spec.Sandbox.Shell, "networkPolicy": spec.Sandbox.NetworkPolicy,
		"credentialProxy": spec.Sandbox.CredentialProxy, "volumes": spec.Sandbox.Volumes,
		"platform": spec.Sandbox.Platform, "extensions": spec.Sandbox.Extensions,
	}
	if spec.Reuse == ReuseNone {
		fields["run"] = runID
	}
	text, err := canonical(fields)
	if err != nil {
		return "", fmt.Errorf("computing the key of thread %q: %w", threadID, err)
	}
	sum := sha256.Sum256(append([]byte(keyVersion+"\n"), text...))
	return KeyPrefix + hex.EncodeToString(sum[:]), nil
}

// canonical encodes a value as JSON with sorted keys, no blanks, and no members that are absent: null, "",
// false, 0, [] and {} are left out of objects.
func canonical(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var generic any
	if err := decoder.Decode(&generic); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(present(generic)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// present drops what is absent from a value; nil is absent as a whole.
func present(v any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, member := range v {
			if member = present(member); member != nil {
				kept[key] = member
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	case []any:
		if len(v) == 0 {
			return nil
		}
		kept := make([]any, len(v))
		for i, element := range v {
			kept[i] = present(element) // an element has its place, absent or not
		}
		return kept
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	case json.Number:
		if v == "0" {
			return nil
		}
	}
	return v
}
