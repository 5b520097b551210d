package alineo

import "github.com/alineo-labs/alineo-host/abi"

// Secret is a value that stays on the host, by its handle; 0 is none. It is good until the running call
// ends.
type Secret uint64

// Raw is the secret as it is, as a piece of a request.
func (s Secret) Raw() abi.HTTPPart { return abi.HTTPPart{Secret: uint64(s)} }

// JSON is the secret escaped for the inside of a JSON string; the quotes are not part of it.
func (s Secret) JSON() abi.HTTPPart {
	return abi.HTTPPart{Secret: uint64(s), Encoding: abi.PartJSON}
}

// Base64 is the secret in standard base64.
func (s Secret) Base64() abi.HTTPPart {
	return abi.HTTPPart{Secret: uint64(s), Encoding: abi.PartBase64}
}

// URL is the secret percent-encoded, for a query or a form.
func (s Secret) URL() abi.HTTPPart { return abi.HTTPPart{Secret: uint64(s), Encoding: abi.PartURL} }

// GrantedSecret returns a secret that [plugins.NAME.grant] in alineo.toml names, read anew, and a number
// that is another one when the value is. The error is an *abi.Error.
func GrantedSecret(name string) (value Secret, version uint64, err error) {
	var reply abi.SecretReply
	if err := Invoke(abi.OpSecretGet, &abi.SecretGet{Name: name}, &reply); err != nil {
		return 0, 0, err
	}
	return Secret(reply.Secret), reply.Version, nil
}

// Kept is a secret that was kept in an earlier call.
type Kept struct {
	Secret    Secret
	ExpiresMS uint64 // milliseconds that are left of its time; 0: no end
	Note      []byte // what KeepSecret was given; good until the running call ends
}

// KeptSecret returns what was kept under a name; code not_found when nothing is, or its time is over.
func KeptSecret(name string) (Kept, error) {
	var reply abi.SecretReply
	if err := Invoke(abi.OpSecretGet, &abi.SecretGet{Name: name, Kept: true}, &reply); err != nil {
		return Kept{}, err
	}
	return Kept{Secret: Secret(reply.Secret), ExpiresMS: reply.ExpiresMS, Note: reply.Note}, nil
}

// KeepSecret keeps a secret on the host for so many milliseconds, 0 being for as long as the plugin lives,
// for all instances of this plugin. The note comes back with it and is no secret.
func KeepSecret(name string, value Secret, ttlMS uint64, note []byte) error {
	return Invoke(abi.OpSecretKeep, &abi.SecretKeep{Name: name, Secret: uint64(value), TTLMS: ttlMS, Note: note}, new(abi.Empty))
}

// ForgetSecret drops what was kept under a name.
func ForgetSecret(name string) error { return KeepSecret(name, 0, 0, nil) }
