package brokertest_test

import (
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// faulty is a broker with a fault that no guest can have.
type faulty struct {
	credential.Broker
	fault string
}

func (f faulty) Set(ctx context.Context, to credential.Sandbox, name string, value credential.Secret, binding credential.Binding) error {
	if f.fault == "fault/canceled" {
		ctx = context.WithoutCancel(ctx)
	}
	err := f.Broker.Set(ctx, to, name, value, binding)
	if err != nil && f.fault == "fault/silent" {
		return fmt.Errorf("%w (the value was %s)", err, value.Reveal())
	}
	return err
}

func (f faulty) Resolve(ctx context.Context, name string, source credential.Source) (credential.Resolved, error) {
	if f.fault == "resolve/undeclared" {
		return credential.Resolved{Value: credential.NewSecret("surprise")}, nil
	}
	return f.Broker.Resolve(ctx, name, source)
}
