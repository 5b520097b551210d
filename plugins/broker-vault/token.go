package main

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// keptToken is the name under which the host keeps the token in use.
const keptToken = "vault-token"

// lease is what is known of a kept token, beside the token.
type lease struct {
	Renewable bool   `json:"renewable"`
	LengthMS  uint64 `json:"lengthMs"` // of the whole lease; 0: it has no end
	Version   uint64 `json:"version"`  // of the granted secret, with auth = "token"
	Role      string `json:"role"`     // with auth = "approle"
}

// token returns a token that can be used now. A fresh one is not one that was kept.
func (k *keeper) token() (token alineo.Secret, fresh bool, err error) {
	var granted alineo.Secret
	var version uint64
	if k.Auth == authToken {
		if granted, version, err = alineo.GrantedSecret(k.Token); err != nil {
			return 0, false, err
		}
	}
	if token, ok := k.kept(version); ok {
		return token, false, nil
	}
	if k.Auth == authToken {
		return granted, true, k.lookup(granted, version)
	}
	token, err = k.login()
	return token, true, err
}

// kept returns the kept token, renewed when most of its time is over.
func (k *keeper) kept(version uint64) (alineo.Secret, bool) {
	kept, err := alineo.KeptSecret(keptToken)
	if err != nil {
		return 0, false
	}
	var l lease
	if err := json.Unmarshal(kept.Note, &l); err != nil || l.Version != version || l.Role != k.role() {
		return 0, false
	}
	if l.LengthMS == 0 || kept.ExpiresMS > l.LengthMS/3 {
		return kept.Secret, true
	}
	if l.Renewable {
		token, err := k.renew(kept.Secret, l)
		if err == nil {
			return token, true
		}
		alineo.Log(alineo.Warn, err.Error())
	}
	// What is left of it is too short to count on, unless there is nothing else to be had.
	return kept.Secret, k.Auth == authToken
}

// refresh renews the kept token if it is time, so that it doesn't end because nobody asks for anything.
func (k *keeper) refresh() {
	var version uint64
	if k.Auth == authToken {
		var err error
		if _, version, err = alineo.GrantedSecret(k.Token); err != nil {
			return // whoever asks for something is told
		}
	}
	k.kept(version)
}

func (k *keeper) role() string {
	if k.Auth == authAppRole {
		return k.Mount + " " + k.RoleID
	}
	return ""
}

// authDoc is what Vault says of a login.
type authDoc struct {
	Auth *struct {
		LeaseSeconds uint64 `json:"lease_duration"`
		Renewable    bool   `json:"renewable"`
	} `json:"auth"`
}

// login logs in with the role. The token stays on the host.
func (k *keeper) login() (alineo.Secret, error) {
	const doing = "logging in with AppRole"
	body := []abi.HTTPPart{alineo.Literal(`{"role_id":` + encode(k.RoleID))}
	if k.SecretID != "" {
		secret, _, err := alineo.GrantedSecret(k.SecretID)
		if err != nil {
			return 0, err
		}
		body = append(body, alineo.Literal(`,"secret_id":"`), secret.JSON(), alineo.Literal(`"`))
	}
	return k.session(question{
		method: "POST", path: "auth/" + escapePath(k.Mount) + "/login", body: append(body, alineo.Literal(`}`)),
		extract: []string{"/auth/client_token"}, hide: []string{"/auth/accessor"},
	}, lease{Role: k.role()}, doing)
}

// renew makes the kept token last longer.
func (k *keeper) renew(token alineo.Secret, l lease) (alineo.Secret, error) {
	return k.session(question{
		method: "POST", path: "auth/token/renew-self", token: token, body: []abi.HTTPPart{alineo.Literal(`{}`)},
		extract: []string{"/auth/client_token"}, hide: []string{"/auth/accessor"},
	}, l, "renewing the token")
}

// session asks for something whose answer has a token, and keeps that for as long as its lease is.
func (k *keeper) session(q question, l lease, doing string) (alineo.Secret, error) {
	asked := time.Now()
	reply, err := k.ask(q)
	if err != nil {
		return 0, err
	}
	switch {
	case reply.Status == statusBad && q.token == 0:
		return 0, fail(abi.CodeDenied, doing+": the Vault at "+k.address+" does not take the role_id, or the secret in \""+k.SecretID+"\": "+complaints(reply))
	case reply.Status != statusOK:
		return 0, k.refusal(reply, doing)
	}
	var doc authDoc
	if err := k.decode(reply, &doc, doing); err != nil {
		return 0, err
	}
	if doc.Auth == nil || reply.Secrets[0] == 0 {
		return 0, fail(abi.CodeUnavailable, doing+": "+k.address+" gives no token")
	}
	token := alineo.Secret(reply.Secrets[0])
	l.Renewable, l.LengthMS = doc.Auth.Renewable, doc.Auth.LeaseSeconds*1000
	return token, keep(token, l, l.LengthMS, asked)
}

// lookup learns how long a granted token lasts, and keeps it for that long. A token that may not look
// itself up is used as it is.
func (k *keeper) lookup(token alineo.Secret, version uint64) error {
	const doing = "looking up the token"
	asked := time.Now()
	reply, err := k.ask(question{method: "GET", path: "auth/token/lookup-self", token: token, hide: []string{"/data/id", "/data/accessor"}})
	if err != nil {
		return err
	}
	switch reply.Status {
	case statusOK:
	case statusForbidden:
		return fail(abi.CodeDenied, doing+": the Vault at "+k.address+" does not take the token in the secret \""+k.Token+
			"\": it is over, revoked, of another namespace, or may not look itself up; put a new one there")
	default:
		return k.refusal(reply, doing)
	}
	var doc struct {
		Data struct {
			TTL       uint64 `json:"ttl"`
			Renewable bool   `json:"renewable"`
			Creation  uint64 `json:"creation_ttl"`
		} `json:"data"`
	}
	if err := k.decode(reply, &doc, doing); err != nil {
		return err
	}
	l := lease{Renewable: doc.Data.Renewable, Version: version}
	if doc.Data.TTL > 0 {
		l.LengthMS = max(doc.Data.Creation, doc.Data.TTL) * 1000
	}
	return keep(token, l, doc.Data.TTL*1000, asked)
}

// keep has the host keep a token for what is left of its lease, counted from when it was asked for.
func keep(token alineo.Secret, l lease, leftMS uint64, asked time.Time) error {
	if leftMS > 0 {
		if spent := uint64(time.Since(asked).Milliseconds()); spent < leftMS {
			leftMS -= spent
		} else {
			leftMS = 1
		}
	}
	return alineo.KeepSecret(keptToken, token, leftMS, []byte(encode(l)))
}

// forget drops the kept token.
func forget() error {
	err := alineo.ForgetSecret(keptToken)
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Code == abi.CodeNotFound {
		return nil
	}
	return err
}

// encode writes JSON; what it is given here can always be written.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
