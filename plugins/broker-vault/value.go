package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// mount is what is known of a secrets engine.
type mount struct {
	path string // with a slash at its end
	kv2  bool
}

// value reads what a reference leads to. When Vault does not take the token that was kept, it is asked once
// more with a new one.
func (k *keeper) value(ref reference) (*abi.BrokerResolveReply, error) {
	token, fresh, err := k.token()
	if err != nil {
		return nil, err
	}
	reply, err := k.read(ref, token)
	if e, ok := errors.AsType[*abi.Error](err); ok && e.Code == abi.CodeDenied && !fresh {
		if err := forget(); err != nil {
			return nil, err
		}
		clear(k.mounts)
		if token, _, err = k.token(); err != nil {
			return nil, err
		}
		reply, err = k.read(ref, token)
	}
	return reply, err
}

// read reads it with one token.
func (k *keeper) read(ref reference, token alineo.Secret) (*abi.BrokerResolveReply, error) {
	doing := "reading " + ref.String()
	m, err := k.mount(ref, token, doing)
	if err != nil {
		return nil, err
	}
	path, base := escapePath(ref.path), "/data"
	switch {
	case m.kv2:
		path = escapePath(m.path + "data/" + strings.TrimPrefix(ref.path, m.path))
		base = "/data/data"
		if ref.version > 0 {
			path += "?version=" + strconv.FormatUint(ref.version, 10)
		}
	case ref.version > 0:
		return nil, fail(abi.CodeInvalid, doing+": versions are of KV version 2, and "+m.path+" is something else")
	}
	asked := time.Now()
	reply, err := k.ask(question{method: "GET", path: path, token: token, extract: []string{ref.pointer(base)}, hide: []string{base}})
	if err != nil {
		return nil, err
	}
	if reply.Status == statusNotFound {
		return nil, k.missing(reply, ref, m, doing)
	}
	if reply.Status != statusOK {
		return nil, k.refusal(reply, doing)
	}
	var doc struct {
		LeaseID      string `json:"lease_id"`
		LeaseSeconds uint64 `json:"lease_duration"`
	}
	if err := k.decode(reply, &doc, doing); err != nil {
		return nil, err
	}
	if reply.Secrets[0] == 0 {
		return nil, fail(abi.CodeNotFound, doing+": what is stored there has no text under the key \""+ref.key+"\"")
	}
	return &abi.BrokerResolveReply{Value: reply.Secrets[0], ExpiresMS: left(doc.LeaseSeconds, asked)}, nil
}

// left is what is left of a lease of so many seconds; 0 is no end.
func left(seconds uint64, asked time.Time) uint64 {
	if seconds == 0 {
		return 0
	}
	spent := uint64(time.Since(asked).Milliseconds())
	if total := seconds * 1000; spent < total {
		return total - spent
	}
	return 1
}

// missing says why there is nothing: KV version 2 tells deleted from never written.
func (k *keeper) missing(reply *abi.HTTPReply, ref reference, m mount, doing string) error {
	var doc struct {
		Data struct {
			Metadata *struct {
				Deleted   string `json:"deletion_time"`
				Destroyed bool   `json:"destroyed"`
				Version   uint64 `json:"version"`
			} `json:"metadata"`
		} `json:"data"`
	}
	if err := k.decode(reply, &doc, doing); err == nil && doc.Data.Metadata != nil {
		gone := doc.Data.Metadata
		how := "was deleted at " + gone.Deleted
		if gone.Destroyed {
			how = "was destroyed"
		}
		return fail(abi.CodeNotFound, doing+": version "+strconv.FormatUint(gone.Version, 10)+" "+how)
	}
	if complaints(reply) == "" || strings.HasPrefix(complaints(reply), "{") {
		return fail(abi.CodeNotFound, doing+": nothing is stored at "+strings.TrimPrefix(ref.path, m.path)+" below "+m.path)
	}
	return k.refusal(reply, doing)
}

// mount finds out which secrets engine a path belongs to, as Vault's own command does.
func (k *keeper) mount(ref reference, token alineo.Secret, doing string) (mount, error) {
	if m, ok := k.mounts[ref.path]; ok {
		return m, nil
	}
	reply, err := k.ask(question{method: "GET", path: "sys/internal/ui/mounts/" + escapePath(ref.path), token: token})
	if err != nil {
		return mount{}, err
	}
	if reply.Status == statusForbidden && strings.Contains(complaints(reply), "preflight") {
		return mount{}, fail(abi.CodeDenied, doing+": nothing is mounted at the beginning of "+ref.path+
			" in the Vault at "+k.address+", or the token's policies allow nothing there")
	}
	if reply.Status != statusOK {
		return mount{}, k.refusal(reply, doing)
	}
	var doc struct {
		Data struct {
			Path    string            `json:"path"`
			Type    string            `json:"type"`
			Options map[string]string `json:"options"`
		} `json:"data"`
	}
	if err := k.decode(reply, &doc, doing); err != nil {
		return mount{}, err
	}
	if doc.Data.Path == "" || !strings.HasPrefix(ref.path+"/", doc.Data.Path) {
		return mount{}, fail(abi.CodeUnavailable, doing+": "+k.address+" answers with something that is no Vault's")
	}
	m := mount{path: strings.Clone(doc.Data.Path), kv2: doc.Data.Type == "kv" && doc.Data.Options["version"] == "2"}
	if len(k.mounts) > 1000 {
		clear(k.mounts)
	}
	k.mounts[strings.Clone(ref.path)] = m
	return m, nil
}
