package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/abi"
)

func newPlugin(a *app) *cobra.Command {
	return group("plugin", "Write, try, pin and operate plugins",
		"  alineo-host plugin new my-ledger --kind ledger --lang go\n  alineo-host plugin list\n  alineo-host plugin inspect ./my-ledger.wasm\n  alineo-host plugin test ./my-ledger.wasm",
		newPluginNew(a), newPluginInspect(a), newPluginTest(a), newPluginCall(a), newPluginBench(a), newPluginPin(a),
		newPluginVerify(a), newPluginList(a), newPluginReload(a))
}

// stateWord is a state as the ABI calls it.
func stateWord(s abi.GuestState) string {
	switch s {
	case abi.StateNone:
		return "none"
	case abi.StateVolatile:
		return "volatile"
	case abi.StateExclusive:
		return "exclusive"
	}
	return fmt.Sprintf("unknown (%d)", s)
}

func stateName(s abi.GuestState) string {
	switch s {
	case abi.StateNone:
		return "none (instances are pooled and replaced)"
	case abi.StateVolatile:
		return "volatile (a crash is final)"
	case abi.StateExclusive:
		return "exclusive (one instance)"
	}
	return fmt.Sprintf("unknown (%d)", s)
}
