// Command broker-vault is the bundled credential broker. It has two halves, which are configured apart.
//
// Delivery: credentials go into the vault of each sandbox's egress sidecar (package egressvault).
//
// Sources: values are found by reference, when a credential's source has one:
//
//	secret:NAME                    a secret that [plugins.broker-vault.grant] names
//	vault:MOUNT/PATH#KEY           of HashiCorp Vault or OpenBao: KV of both versions, and whatever
//	                               else is read with GET, such as database/creds/ROLE#password
//	vault:MOUNT/PATH?version=3#KEY an older version of KV version 2
//
// A KEY that begins with a slash is a JSON pointer into what is stored. A Vault is configured so:
//
//	[plugins.broker-vault.config.vault]
//	address = "https://vault.internal:8200"
//	namespace = "team"             # when there is one
//	auth = "approle"               # or "token"
//	role_id = "…"
//	secret_id = "vault-secret-id"  # the name of a granted secret; with auth = "token": token = "vault-token"
//
//	[plugins.broker-vault.grant]
//	http = ["https://vault.internal:8200"]
//	private = ["vault.internal"]   # when it is on a network of one's own
//	ca = "./vault-ca.pem"          # when its certificate is private
//	secrets = ["vault-secret-id"]
//
// The guest never sees a value: tokens and secrets are taken out of Vault's answers by the host and kept
// there, tokens no longer than their lease. A token that can be renewed is, when two thirds of its
// time are over; one that can't be used any more is replaced by a new login, or, with auth = "token",
// is an error until the granted secret is another.
//
// imports: abi, sdk/go/alineo, sdk/go/egressvault.
package main
