package plugin

import (
	"errors"
	"fmt"
	"slices"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/schema"
)

// checkConfig holds the configuration against the manifest's schema. failure is what the guest said of
// it: its own words about a key are kept, and what it let pass is added.
func (p *Plugin) checkConfig(failure *Error) *Error {
	var refused *ConfigError
	if failure != nil && !errors.As(failure, &refused) && failure.Kind != KindGuest {
		return failure // not about the configuration
	}
	s, err := schema.Parse(p.manifest.ConfigSchema)
	if err != nil {
		return p.fail(abi.OpDescribe, KindLoad, false, fmt.Errorf("the manifest's schema of the configuration can't be used: %w", err))
	}
	var diagnostics []abi.Diagnostic
	if refused != nil {
		diagnostics = refused.Diagnostics
	}
	for _, problem := range s.Check(p.config) {
		key := tidyText(problem.Key)
		if !slices.ContainsFunc(diagnostics, func(d abi.Diagnostic) bool { return d.Key == key }) {
			diagnostics = append(diagnostics, abi.Diagnostic{Key: key, Message: tidyText(problem.Message)})
		}
	}
	if len(diagnostics) == 0 {
		return failure
	}
	return p.fail(abi.OpConfigure, KindConfig, false, &ConfigError{Diagnostics: diagnostics})
}
