package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
)

const schema = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "settle": {"type": "string", "description": "how long to wait until a sidecar has seen a change, unless it says that it has: 600ms"},
    "vault": {
      "type": "object",
      "additionalProperties": false,
      "required": ["address"],
      "properties": {
        "address": {"type": "string", "description": "https://host:port of a HashiCorp Vault or OpenBao"},
        "namespace": {"type": "string"},
        "auth": {"enum": ["token", "approle"], "description": "how to log in; token"},
        "token": {"type": "string", "description": "token: the name of a granted secret"},
        "role_id": {"type": "string", "description": "approle"},
        "secret_id": {"type": "string", "description": "approle: the name of a granted secret; empty when the role needs none"},
        "mount": {"type": "string", "description": "approle: where it is mounted; approle"}
      }
    }
  }
}`

type settings struct {
	Settle string    `json:"settle"`
	Vault  *vaultSet `json:"vault"`
}

type vaultSet struct {
	Address   string `json:"address"`
	Namespace string `json:"namespace"`
	Auth      string `json:"auth"`
	Token     string `json:"token"`
	RoleID    string `json:"role_id"`
	SecretID  string `json:"secret_id"`
	Mount     string `json:"mount"`
}

const (
	authToken   = "token"
	authAppRole = "approle"
)

func (b *broker) configure(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
	var s settings
	if err := json.Unmarshal([]byte(req.Config), &s); err != nil {
		return nil, fail(abi.CodeInvalid, err.Error())
	}
	reply := &abi.ConfigureReply{}
	refuse := func(key, message string) {
		reply.Diagnostics = append(reply.Diagnostics, abi.Diagnostic{Key: key, Message: message})
	}
	if s.Settle != "" {
		settle, err := time.ParseDuration(s.Settle)
		if err != nil || settle < 0 || settle > 10*time.Second {
			refuse("settle", "\""+s.Settle+"\" is not a time of at most 10s (try \"600ms\")")
		}
		b.Settle = settle
	}
	if s.Vault == nil {
		return reply, nil
	}
	v := *s.Vault
	if !strings.HasPrefix(v.Address, "https://") && !strings.HasPrefix(v.Address, "http://") {
		refuse("vault.address", "\""+v.Address+"\" does not begin with https:// or http://")
	}
	if v.Auth == "" {
		v.Auth = authToken
	}
	switch {
	case v.Auth == authToken && v.Token == "":
		refuse("vault.token", "with auth = \"token\", token is the name of a granted secret (token = \"vault-token\", and [plugins.broker-vault.grant] secrets = [\"vault-token\"])")
	case v.Auth == authToken && (v.RoleID != "" || v.SecretID != "" || v.Mount != ""):
		refuse("vault.auth", "role_id, secret_id and mount are for auth = \"approle\"")
	case v.Auth == authAppRole && v.RoleID == "":
		refuse("vault.role_id", "auth = \"approle\" needs a role_id")
	case v.Auth == authAppRole && v.Token != "":
		refuse("vault.token", "a token is for auth = \"token\"")
	}
	if v.Mount == "" {
		v.Mount = authAppRole
	}
	b.keeper = &keeper{vaultSet: v, address: strings.TrimRight(v.Address, "/"), mounts: map[string]mount{}}
	return reply, nil
}
