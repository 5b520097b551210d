package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// versionPrefixes begin the names by which a module says which version of the ABI it speaks.
const (
	markerPrefix = "alineo_abi_v"
	importPrefix = "alineo_v"
)

// problem is one thing that is wrong with what a module imports or exports.
type problem struct {
	kind Kind
	text string
}

// checkSymbols holds imports and exports against the ABI, before anything of the module runs. The
// error tells all problems; its kind is that of the first.
func checkSymbols(compiled wazero.CompiledModule, offered map[string]map[string]api.FunctionDefinition) *fault {
	problems := checkExports(compiled)
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if p := checkImport(module, name, f, offered[module]); p.text != "" {
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.text
	}
	return &fault{kind: problems[0].kind, err: errors.New(strings.Join(texts, "; "))}
}

// checkExports checks the exact signatures of what the host calls.
func checkExports(compiled wazero.CompiledModule) []problem {
	exports := compiled.ExportedFunctions()
	if _, ok := exports[abi.ExportMarker]; !ok {
		for name := range exports {
			if strings.HasPrefix(name, markerPrefix) {
				return []problem{{KindMissingExport, fmt.Sprintf(
					"the module speaks %.40q, this host speaks %s: it needs another version of the host", name, abi.ExportMarker)}}
			}
		}
	}
	var problems []problem
	for _, want := range []struct {
		name            string
		params, results []api.ValueType
		optional        bool
	}{
		{name: abi.ExportMarker},
		{name: abi.ExportBuffer, params: []api.ValueType{i32}, results: []api.ValueType{i32}},
		{name: abi.ExportCall, params: []api.ValueType{i32, i32}, results: []api.ValueType{i64}},
		{name: abi.ExportInitialize, optional: true},
	} {
		wanted := signature(want.params, want.results)
		f, ok := exports[want.name]
		switch {
		case !ok && want.optional:
		case !ok:
			problems = append(problems, problem{
				KindMissingExport,
				fmt.Sprintf("the module does not export the function %s %s", want.name, wanted),
			})
		case signature(f.ParamTypes(), f.ResultTypes()) != wanted:
			problems = append(problems, problem{
				KindSignature,
				fmt.Sprintf("the module exports %s as %s, wanted is %s", want.name,
					signature(f.ParamTypes(), f.ResultTypes()), wanted),
			})
		}
	}
	if _, ok := compiled.ExportedMemories()[abi.ExportMemory]; !ok {
		problems = append(problems, problem{KindMissingExport, fmt.Sprintf("the module does not export its memory as %q", abi.ExportMemory)})
	}
	return problems
}

// checkImport says why an import cannot be had. An empty text says that it can.
func checkImport(module, name string, f api.FunctionDefinition, offered map[string]api.FunctionDefinition) problem {
	have, ok := offered[name]
	if ok {
		wanted, found := signature(have.ParamTypes(), have.ResultTypes()), signature(f.ParamTypes(), f.ResultTypes())
		if wanted == found {
			return problem{}
		}
		return problem{KindSignature, fmt.Sprintf("the module imports %s.%s as %s, wanted is %s", module, name, found, wanted)}
	}
	import_ := fmt.Sprintf("the module imports %.60q.%.60q", module, name)
	switch {
	case module == abi.HostModule:
		return problem{KindImport, fmt.Sprintf("%s, which is unknown: version 1 has %s, %s and %s",
			import_, abi.ImportCall, abi.ImportTake, abi.ImportLog)}
	case strings.HasPrefix(module, importPrefix):
		return problem{KindImport, fmt.Sprintf("%s, but this host is too old for it: it has %s", import_, abi.HostModule)}
	case module == wasi_snapshot_preview1.ModuleName:
		return problem{KindImport, import_ + ", a WASI function that this host does not offer"}
	case strings.HasPrefix(module, "wasi"):
		return problem{KindImport, fmt.Sprintf("%s, but of WASI this host has only %s: build for wasip1", import_, wasi_snapshot_preview1.ModuleName)}
	default:
		return problem{KindImport, fmt.Sprintf("%s, which is unknown: a plugin can import from %s and %s",
			import_, abi.HostModule, wasi_snapshot_preview1.ModuleName)}
	}
}

// symbols lists what a module imports and exports, as the guest was built.
func (e *engine) symbols() (imports, exports []string) {
	for _, f := range e.compiled.ImportedFunctions() {
		if module, name, _ := f.Import(); module != meter.ModuleName {
			imports = append(imports, module+"."+name+signature(f.ParamTypes(), f.ResultTypes()))
		}
	}
	for name, f := range e.compiled.ExportedFunctions() {
		exports = append(exports, name+signature(f.ParamTypes(), f.ResultTypes()))
	}
	for name, m := range e.compiled.ExportedMemories() {
		exports = append(exports, fmt.Sprintf("%s: memory of at least %d pages", name, m.Min()))
	}
	slices.Sort(imports)
	slices.Sort(exports)
	return imports, exports
}

// signature writes a type as "(i32, i32) -> i64".
func signature(params, results []api.ValueType) string {
	list := func(types []api.ValueType) string {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = api.ValueTypeName(t)
		}
		return strings.Join(names, ", ")
	}
	result := list(results)
	if len(results) != 1 {
		result = "(" + result + ")"
	}
	return "(" + list(params) + ") -> " + result
}
