//go:build !wasip1 && !tinygo.wasm

package alineo

import (
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

// storeOperations are the operations of durable runs.
func storeOperations() (all, optional []abi.Op) {
	for op := abi.OpInstancesGet; op <= abi.OpLocksRelease; op++ {
		if strings.HasPrefix(op.String(), "0x") {
			continue
		}
		all = append(all, op)
		if op.Optional() {
			optional = append(optional, op)
		}
	}
	return all, optional
}

func TestStoresAreDispatched(t *testing.T) {
	t.Parallel()
	all, optional := storeOperations()
	whole := Plugin{
		Instances: UnimplementedInstances{}, Runs: UnimplementedRuns{}, RunLog: UnimplementedRunLog{}, Locks: UnimplementedLocks{},
	}
	declared := whole
	declared.Optional = optional
	serveTest(t, declared, nil)
	for _, op := range all {
		// The method is reached, by the name that it gives; and it gets what it is to get.
		if err := Dispatch(op, nil, nil); code(t, err) != abi.CodeUnsupported || !strings.HasSuffix(err.Error(), "no operation "+op.String()) {
			t.Errorf("%s: %v", op, err)
		}
		garbage := abi.Raw{0x0a, 0xff}
		if err := Dispatch(op, &garbage, nil); code(t, err) != abi.CodeInvalid {
			t.Errorf("%s with garbage: %v", op, err)
		}
	}
	var manifest abi.Manifest
	if err := Dispatch(abi.OpDescribe, nil, &manifest); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(manifest.Kinds, " "); got != "instances runs log locks" {
		t.Errorf("the kinds are %q", got)
	}
	if len(manifest.Optional) != len(optional) {
		t.Errorf("the manifest declares %q", manifest.Optional)
	}
	for i, op := range optional {
		if manifest.Optional[i] != op.String() {
			t.Errorf("the manifest declares %q, want %s", manifest.Optional[i], op)
		}
	}

	// What is not declared does not reach the method, not even to be decoded.
	Serve(whole)
	for _, op := range optional {
		garbage := abi.Raw{0x0a, 0xff}
		if err := Dispatch(op, &garbage, nil); code(t, err) != abi.CodeUnsupported {
			t.Errorf("%s, which is not declared: %v", op, err)
		}
	}
	Serve(Plugin{Optional: optional})
	for _, op := range all {
		if err := Dispatch(op, nil, nil); code(t, err) != abi.CodeUnsupported {
			t.Errorf("%s of a plugin without stores: %v", op, err)
		}
	}
}
