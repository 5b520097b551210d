package main

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// keeper is a Vault or OpenBao. Nothing secret is in it: tokens are kept by the host.
type keeper struct {
	vaultSet
	address string
	mounts  map[string]mount // by the path that they were asked for
}

// Statuses of a Vault.
const (
	statusOK          = 200
	statusNoContent   = 204
	statusBad         = 400
	statusForbidden   = 403
	statusNotFound    = 404
	statusTooMany     = 429
	statusInternal    = 500
	statusGateway     = 502
	statusUnavailable = 503
	statusTimeout     = 504
)

// question is one request to a Vault.
type question struct {
	method  string
	path    string // below /v1/, escaped
	token   alineo.Secret
	body    []abi.HTTPPart
	extract []string
	hide    []string
}

// pauses are those before each attempt, when a Vault is not there for a moment.
func pauses() []time.Duration {
	return []time.Duration{0, 150 * time.Millisecond, 600 * time.Millisecond}
}

// ask sends a question, again when the Vault is not there for a moment. Questions may be asked twice.
func (k *keeper) ask(q question) (*abi.HTTPReply, error) {
	req := abi.HTTPRequest{
		URL: k.address + "/v1/" + q.path, Method: q.method, Body: q.body, Extract: q.extract, Hide: q.hide,
		Headers: []abi.HTTPHeader{alineo.Header("X-Vault-Request", "true")},
	}
	if q.token != 0 {
		req.Headers = append(req.Headers, alineo.SecretHeader("X-Vault-Token", q.token))
	}
	if k.Namespace != "" {
		req.Headers = append(req.Headers, alineo.Header("X-Vault-Namespace", k.Namespace))
	}
	if q.body != nil {
		req.Headers = append(req.Headers, alineo.Header("Content-Type", "application/json"))
	}
	var reply *abi.HTTPReply
	var err error
	for _, pause := range pauses() {
		if pause > 0 {
			time.Sleep(pause)
		}
		if reply, err = alineo.Send(&req); !passing(reply, err) {
			break
		}
	}
	if e, ok := errors.AsType[*abi.Error](err); ok && (e.Code == abi.CodeUnavailable || e.Code == abi.CodeUnknownOutcome || e.Code == abi.CodeDeadline) {
		gone := fail(abi.CodeUnavailable, "the Vault can't be reached: "+e.Message)
		gone.Retryable = e.Retryable || e.Code != abi.CodeUnavailable
		return nil, gone
	}
	return reply, err
}

// passing says whether it may be otherwise in a moment.
func passing(reply *abi.HTTPReply, err error) bool {
	if e, ok := errors.AsType[*abi.Error](err); ok {
		return e.Retryable && (e.Code == abi.CodeUnavailable || e.Code == abi.CodeUnknownOutcome)
	}
	switch reply.Status {
	case statusInternal, statusGateway, statusTimeout:
		return true
	case statusUnavailable:
		return !isSealed(complaints(reply))
	}
	return false
}

// complaints are the texts of an answer that is an error.
func complaints(reply *abi.HTTPReply) string {
	const most = 300
	var doc struct {
		Errors []string `json:"errors"`
	}
	text := strings.TrimSpace(string(reply.Body))
	if err := json.Unmarshal(reply.Body, &doc); err == nil {
		text = strings.Join(doc.Errors, "; ")
	}
	if text = strings.Join(strings.Fields(text), " "); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func isSealed(text string) bool { return strings.Contains(strings.ToLower(text), "sealed") }

// refusal is what an answer that is no success means. doing says what was asked for.
func (k *keeper) refusal(reply *abi.HTTPReply, doing string) error {
	said := complaints(reply)
	at := k.address
	if k.Namespace != "" {
		at += " (namespace " + k.Namespace + ")"
	}
	tail := ""
	if said != "" {
		tail = ": " + said
	}
	lower := strings.ToLower(said)
	switch {
	case reply.Status == statusUnavailable && isSealed(said):
		return fail(abi.CodeUnavailable, doing+": the Vault at "+at+" is sealed; somebody has to unseal it")
	case strings.Contains(lower, "namespace not found"), strings.Contains(lower, "no handler for route") && k.Namespace != "" && strings.Contains(lower, "namespace"):
		return fail(abi.CodeInvalid, doing+": the Vault at "+k.address+" has no namespace \""+k.Namespace+"\"")
	case strings.Contains(lower, "no handler for route"):
		return fail(abi.CodeNotFound, doing+": nothing is mounted there in the Vault at "+at)
	case strings.Contains(lower, "active cluster node not found"), strings.Contains(lower, "standby"):
		return fail(abi.CodeUnavailable, doing+": the Vault at "+at+" is a standby and has no active node to ask"+tail)
	case reply.Status == statusTooMany:
		wait := ""
		if after := alineo.HeaderValue(reply, "Retry-After"); after != "" {
			wait = "; it says to come back after " + after + " s"
		}
		return fail(abi.CodeResourceExhausted, doing+": the Vault at "+at+" limits how often it is asked"+wait)
	case reply.Status == statusForbidden:
		return fail(abi.CodeDenied, doing+": the Vault at "+at+" says permission denied"+tail)
	case reply.Status == statusBad:
		return fail(abi.CodeInvalid, doing+": the Vault at "+at+" refuses the request"+tail)
	case reply.Status == statusNotFound:
		return fail(abi.CodeNotFound, doing+": the Vault at "+at+" has nothing there"+tail)
	case reply.Status >= statusInternal:
		return fail(abi.CodeUnavailable, doing+": the Vault at "+at+" answers with status "+strconv.FormatUint(reply.Status, 10)+tail)
	}
	return fail(abi.CodeInternal, doing+": "+at+" answers with status "+strconv.FormatUint(reply.Status, 10)+tail+" (is it a Vault?)")
}

// decode reads an answer that should be a Vault's.
func (k *keeper) decode(reply *abi.HTTPReply, into any, doing string) error {
	if err := json.Unmarshal(reply.Body, into); err != nil {
		return fail(abi.CodeUnavailable, doing+": "+k.address+" answers with something that is no Vault's")
	}
	return nil
}
