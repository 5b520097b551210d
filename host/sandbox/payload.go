package sandbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// The payloads of the ledger, with their keys in the order in which the reference writes them.

// identity is what a sandbox is recorded under besides its name and id.
type identity struct {
	RunID      string `json:"runId"`
	ResourceID string `json:"resourceId,omitempty"`
	TeamID     string `json:"teamId,omitempty"`
}

// or fills what is empty from other.
func (i identity) or(other identity) identity {
	return identity{cmp.Or(i.RunID, other.RunID), cmp.Or(i.ResourceID, other.ResourceID), cmp.Or(i.TeamID, other.TeamID)}
}

// createdPayload is sandbox.created's for a sandbox from an image.
type createdPayload struct {
	SandboxID string    `json:"sandboxId"`
	Resources Resources `json:"resources"`
	identity
	NetworkPolicy   *opensandbox.NetworkPolicy `json:"networkPolicy,omitempty"`
	CredentialProxy bool                       `json:"credentialProxy,omitempty"`
}

// derivedPayload is sandbox.created's for a sandbox that was made from another one's files. One of
// the first four says how.
type derivedPayload struct {
	SandboxID       string `json:"sandboxId"`
	ResumedFrom     string `json:"resumedFrom,omitempty"`
	ForkedFrom      string `json:"forkedFrom,omitempty"` // a snapshot
	FromSnapshot    string `json:"fromSnapshot,omitempty"`
	FromEnvironment string `json:"fromEnvironment,omitempty"`
	SnapshotID      string `json:"snapshotId,omitempty"`
	identity
	ParentSandboxID string                     `json:"parentSandboxId,omitempty"`
	NetworkPolicy   *opensandbox.NetworkPolicy `json:"networkPolicy,omitempty"`
	CredentialProxy *bool                      `json:"credentialProxy,omitempty"` // a fork's is written even when false
	// The reference writes no resources here, and then can't give them to the next one.
	Resources Resources `json:"resources"`
}

// recordedCreation is what is read back from sandbox.created, whoever wrote it.
type recordedCreation struct {
	resources       Resources
	identity        identity
	networkPolicy   *opensandbox.NetworkPolicy
	credentialProxy bool
}

// readCreated takes what it can read: a key of another type is as good as none. Only a network policy
// must be readable, because without it the sandbox would be open.
func readCreated(payload json.RawMessage) (recordedCreation, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil {
		return recordedCreation{}, nil //nolint:nilerr // as good as none
	}
	get := func(key string) (s string) {
		_ = json.Unmarshal(fields[key], &s)
		return s
	}
	created := recordedCreation{identity: identity{get("runId"), get("resourceId"), get("teamId")}}
	_ = json.Unmarshal(fields["resources"], &created.resources)
	if policy := fields["networkPolicy"]; len(policy) > 0 {
		if err := json.Unmarshal(policy, &created.networkPolicy); err != nil {
			return recordedCreation{}, fmt.Errorf("the recorded network policy can't be read: %w", err)
		}
	}
	created.credentialProxy = string(fields["credentialProxy"]) == "true"
	return created, nil
}

// encode is json.Marshal with < > & left alone, as other writers of the ledger do.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding payload: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// startedPayload is exec.started's: the command or code under its key, seq, what more there is, a
// JSON object, and the digest.
func startedPayload(key, command string, seq int64, more any, digest string) ([]byte, error) {
	text, err := encode(command)
	if err != nil {
		return nil, err
	}
	payload := append(strconv.AppendQuote([]byte{'{'}, key), ':')
	payload = strconv.AppendInt(append(append(payload, text...), `,"seq":`...), seq, 10)
	if more != nil {
		fields, err := encode(more)
		if err != nil {
			return nil, err
		}
		payload = append(append(payload, ','), fields[1:len(fields)-1]...)
	}
	payload = append(payload, `,"`+ledger.DigestField+`":`...)
	return append(strconv.AppendQuote(payload, digest), '}'), nil
}

func completedPayload(exitCode int, seq int64, reason string) []byte {
	payload := append([]byte(`{"exitCode":`), strconv.Itoa(exitCode)...)
	payload = strconv.AppendInt(append(payload, `,"seq":`...), seq, 10)
	if reason != "" {
		payload = strconv.AppendQuote(append(payload, `,"reason":`...), reason)
	}
	return append(payload, '}')
}

// framePayload is exec.output's: the frame as it came, with seq in front.
func framePayload(seq int64, frame []byte) []byte {
	payload, _ := outputPayload(seq, frame, 0, 0)
	return payload
}

// outputPayload is framePayload of a frame whose text is known to be at from, so that it need not be
// looked through. whole says that the payload ends as the frame does.
func outputPayload(seq int64, frame []byte, from, to int) (payload []byte, whole bool) {
	var room [32]byte // for {"seq":N,
	head := strconv.AppendInt(append(room[:0], `{"seq":`...), seq, 10)
	own := []byte(`"seq"`)
	whole = !bytes.Contains(frame[:from], own) && !bytes.Contains(frame[to:], own)
	if !whole {
		frame = withoutSeq(frame)
	}
	rest := bytes.TrimLeft(frame[1:], " \t\r\n")
	if rest[0] != '}' {
		head = append(head, ',')
	}
	// It takes memory without clearing it first.
	return bytes.Join([][]byte{head, rest}, nil), whole
}

// withoutSeq drops a frame's own seq, which would be taken for ours.
func withoutSeq(frame []byte) []byte {
	out, err := rewrite(frame, func(name string, value json.RawMessage) (json.RawMessage, bool) { return value, name != "seq" })
	if err != nil {
		return frame
	}
	return out
}

// textPayload is exec.output's for text that came in another form than an event's.
func textPayload(seq int64, kind, text string) ([]byte, error) {
	return encode(struct {
		Seq  int64  `json:"seq"`
		Type string `json:"type"`
		Text string `json:"text"`
	}{seq, kind, text})
}
