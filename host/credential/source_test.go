package credential_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// keeper is a broker that only resolves.
type keeper struct {
	credential.Broker
	known map[string]string
	err   error
}

func (k keeper) Features() credential.Features { return credential.Features{Resolve: true} }

func (k keeper) Resolve(_ context.Context, _ string, source credential.Source) (credential.Resolved, error) {
	if k.err != nil {
		return credential.Resolved{}, k.err
	}
	if value, ok := k.known[source.Ref]; ok {
		return credential.Resolved{Value: credential.NewSecret(value)}, nil
	}
	return credential.Resolved{}, fmt.Errorf("reference %q: %w", source.Ref, credential.ErrNotFound)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	errVault := errors.New("the vault is sealed")
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"SET": "from env", "EMPTY": ""}[name]
		return value, ok
	}
	answering := func(value credential.Secret, err error) credential.Resolver {
		return func(context.Context, string, credential.Source) (credential.Secret, error) { return value, err }
	}
	resolver := answering(credential.NewSecret("from resolver"), nil)
	knows := keeper{known: map[string]string{"vault:a": "from broker"}}
	for _, c := range []struct {
		name   string
		source *credential.Source
		from   credential.Resolution
		value  string
		fails  string
		is     error
	}{
		{name: "env wins over the resolver", source: credential.Env("SET"), from: credential.Resolution{LookupEnv: env, Resolver: resolver}, value: "from env"},
		{name: "an empty variable counts", source: credential.Env("EMPTY"), from: credential.Resolution{LookupEnv: env, Resolver: resolver}, value: ""},
		{name: "else the resolver", source: credential.Env("UNSET"), from: credential.Resolution{LookupEnv: env, Resolver: resolver}, value: "from resolver"},
		{name: "env, nobody", source: credential.Env("UNSET"), from: credential.Resolution{LookupEnv: env}, fails: "environment variable UNSET is not set"},
		{name: "broker", source: credential.External("vault:a"), from: credential.Resolution{Broker: knows, Resolver: resolver}, value: "from broker"},
		{name: "broker doesn't know", source: credential.External("vault:b"), from: credential.Resolution{Broker: knows, Resolver: resolver}, value: "from resolver"},
		{name: "broker fails", source: credential.External("vault:a"), from: credential.Resolution{Broker: keeper{err: errVault}, Resolver: resolver}, fails: "sealed", is: errVault},
		{name: "broker fails and says of what", source: credential.External("vault:a"), from: credential.Resolution{Broker: keeper{err: &credential.Error{Op: "resolving credential", Name: "key", Err: errVault}}}, fails: "sealed", is: errVault},
		{name: "no source", from: credential.Resolution{Broker: knows, Resolver: resolver}, value: "from resolver"},
		{name: "no source, nobody", fails: "no resolver"},
		{name: "resolver doesn't know", source: credential.External("x"), from: credential.Resolution{Resolver: answering(credential.Secret{}, nil)}, fails: "doesn't know"},
		{name: "resolver fails", source: credential.External("x"), from: credential.Resolution{Resolver: answering(credential.Secret{}, errVault)}, fails: "resolver failed", is: errVault},
		{name: "unknown type", source: &credential.Source{Type: "clay tablet"}, from: credential.Resolution{LookupEnv: env}, fails: "clay tablet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.from.Resolve(t.Context(), "box-1", "key", c.source)
			if c.fails == "" {
				if err != nil || !got.Value.IsSet() || got.Value.Reveal() != c.value {
					t.Fatalf("%q, %v; want %q", got.Value.Reveal(), err, c.value)
				}
				return
			}
			if !errors.Is(err, credential.ErrUnresolved) || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("%v is not ErrUnresolved", err)
			}
			if strings.Count(err.Error(), `"key"`) != 1 {
				t.Errorf("%q repeats itself", err)
			}
			for _, part := range []string{c.fails, `"key"`, "box-1", "resolver"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %q", err, part)
				}
			}
		})
	}
}
