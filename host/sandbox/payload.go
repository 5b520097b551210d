package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

// The payloads of the ledger, with their keys in the order in which the reference writes them.

// createdPayload is sandbox.created's for a sandbox from an image.
type createdPayload struct {
	SandboxID  string    `json:"sandboxId"`
	Resources  Resources `json:"resources"`
	RunID      string    `json:"runId"`
	ResourceID string    `json:"resourceId,omitempty"`
	TeamID     string    `json:"teamId,omitempty"`
}

// resumedPayload is sandbox.created's for a resumed sandbox.
type resumedPayload struct {
	SandboxID   string `json:"sandboxId"`
	ResumedFrom string `json:"resumedFrom"`
	SnapshotID  string `json:"snapshotId"`
	RunID       string `json:"runId"`
	ResourceID  string `json:"resourceId,omitempty"`
	TeamID      string `json:"teamId,omitempty"`
	// The reference writes no resources here, and then can't give them to the next one.
	Resources Resources `json:"resources"`
}

// recordedCreation is what is read back from sandbox.created, whoever wrote it.
type recordedCreation struct {
	resources       Resources
	runID           string
	resourceID      string
	teamID          string
	networkPolicy   bool
	credentialProxy bool
}

// readCreated takes what it can read: a key of another type is as good as none.
func readCreated(payload json.RawMessage) recordedCreation {
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil {
		return recordedCreation{}
	}
	get := func(key string) (s string) {
		_ = json.Unmarshal(fields[key], &s)
		return s
	}
	created := recordedCreation{runID: get("runId"), resourceID: get("resourceId"), teamID: get("teamId")}
	_ = json.Unmarshal(fields["resources"], &created.resources)
	policy := fields["networkPolicy"]
	created.networkPolicy = len(policy) > 0 && string(policy) != "null"
	created.credentialProxy = string(fields["credentialProxy"]) == "true"
	return created
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

func startedPayload(command string, seq int64, digest string) ([]byte, error) {
	payload, err := encode(struct {
		Cmd string `json:"cmd"`
		Seq int64  `json:"seq"`
	}{command, seq})
	if err != nil {
		return nil, err
	}
	payload = append(payload[:len(payload)-1], `,"`+ledger.DigestField+`":`...)
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

// appendOutput appends exec.output's payload: the frame as it came, with seq in front.
func appendOutput(dst []byte, seq int64, frame []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"seq":`...), seq, 10)
	if bytes.Contains(frame, []byte(`"seq"`)) {
		frame = withoutSeq(frame)
	}
	rest := bytes.TrimLeft(frame[1:], " \t\r\n")
	if rest[0] != '}' {
		dst = append(dst, ',')
	}
	return append(dst, rest...)
}

// withoutSeq drops a frame's own seq, which would be taken for ours.
func withoutSeq(frame []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(frame))
	if _, err := decoder.Token(); err != nil {
		return frame
	}
	out := []byte{'{'}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return frame
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return frame
		}
		name, err := encode(key)
		if err != nil {
			return frame
		}
		if key == "seq" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}')
}
