package abi_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/alineo-labs/alineo-host/abi"
)

// compileSchema compiles the .proto files once.
var compileSchema = sync.OnceValues(func() (map[string]protoreflect.MessageDescriptor, error) {
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{"."}}}
	files, err := compiler.Compile(context.Background(),
		"alineo/v1/common.proto", "alineo/v1/meta.proto", "alineo/v1/ledger.proto", "alineo/v1/runs.proto", "alineo/v1/broker.proto",
		"alineo/v1/host.proto")
	if err != nil {
		return nil, err
	}
	all := map[string]protoreflect.MessageDescriptor{}
	for _, file := range files {
		for i := range file.Messages().Len() {
			m := file.Messages().Get(i)
			all[string(m.Name())] = m
		}
	}
	return all, nil
})

// schema returns the descriptor of every message by name.
func schema(t testing.TB) map[string]protoreflect.MessageDescriptor {
	t.Helper()
	all, err := compileSchema()
	if err != nil {
		t.Fatalf("compiling the schema: %v", err)
	}
	return all
}

// allMessages is one empty message of every type.
func allMessages() []abi.Message {
	return []abi.Message{
		&abi.Empty{}, &abi.Request{}, &abi.Error{}, &abi.Manifest{}, &abi.Want{}, &abi.ConfigureRequest{}, &abi.Diagnostic{},
		&abi.ConfigureReply{}, &abi.HealthReply{}, &abi.SandboxKey{}, &abi.LedgerOpenRequest{}, &abi.Head{},
		&abi.LedgerAppendRequest{}, &abi.LedgerAppendReply{}, &abi.LedgerReadRequest{}, &abi.RowsReply{},
		&abi.LastCheckpointRequest{}, &abi.SandboxRequest{}, &abi.FindSandboxRequest{}, &abi.ListSandboxesRequest{},
		&abi.DeleteReply{}, &abi.EnvironmentRequest{}, &abi.Environment{}, &abi.SQLExec{}, &abi.SQLStep{}, &abi.SQLParam{},
		&abi.SQLExecReply{}, &abi.SQLStepResult{}, &abi.BatchRead{}, &abi.BatchRows{}, &abi.BatchCell{}, &abi.BatchBytes{},
		&abi.PageRequest{}, &abi.SandboxPageRequest{}, &abi.Usage{}, &abi.Stats{},
		&abi.KeyRequest{}, &abi.Applied{}, &abi.Instance{}, &abi.InstancePutIf{}, &abi.InstanceDeleteIf{}, &abi.InstanceListRequest{},
		&abi.RunCreate{}, &abi.RunPatch{}, &abi.RunReply{}, &abi.RunListRequest{}, &abi.ReclaimRequest{}, &abi.SandboxCountRequest{},
		&abi.Count{}, &abi.RunSecret{}, &abi.LogAppendRequest{}, &abi.LogTail{}, &abi.LogReadRequest{}, &abi.LogPage{},
		&abi.LockRequest{}, &abi.LockReply{}, &abi.LeaseRequest{},
		&abi.Source{}, &abi.Binding{}, &abi.AuthHeader{}, &abi.Substitution{}, &abi.NamedBinding{}, &abi.BrokerSetRequest{},
		&abi.BrokerPatchRequest{}, &abi.BrokerRemoveRequest{}, &abi.BrokerListRequest{}, &abi.BrokerListReply{},
		&abi.BrokerResolveRequest{}, &abi.BrokerResolveReply{}, &abi.HTTPRequest{}, &abi.HTTPHeader{}, &abi.HTTPPart{},
		&abi.HTTPReply{}, &abi.HTTPField{}, &abi.SecretGet{}, &abi.SecretReply{}, &abi.SecretKeep{},
	}
}

func messageName(m abi.Message) string { return reflect.TypeOf(m).Elem().Name() }

// A tree is a message as plain maps, lists and strings, the same for both codecs and for golden
// vectors: fields under their names in the schema, absent ones left out; 64-bit and 32-bit numbers as
// decimal strings; bytes in hex; values as valueTree makes them.

// ourTree is the tree of a message of this package. Its fields have the schema's numbers in order.
func ourTree(v reflect.Value, desc protoreflect.MessageDescriptor) map[string]any {
	tree := map[string]any{}
	for i := range v.NumField() {
		field := desc.Fields().ByNumber(protoreflect.FieldNumber(i + 1))
		f := v.Field(i)
		if field == nil {
			panic(fmt.Sprintf("%s has no field %d", desc.Name(), i+1))
		}
		if value, ok := reflect.TypeAssert[abi.Value](f); ok {
			if value.Kind != abi.KindNull {
				tree[string(field.Name())] = valueTree(value)
			}
			continue
		}
		var node any
		switch f.Kind() {
		case reflect.Pointer:
			if f.IsNil() {
				continue
			}
			node = ourScalar(f.Elem())
		case reflect.Struct:
			sub := ourTree(f, field.Message())
			if len(sub) == 0 {
				continue
			}
			node = sub
		case reflect.Map:
			entries := map[string]any{}
			for _, k := range f.MapKeys() {
				entries[k.String()] = f.MapIndex(k).String()
			}
			if len(entries) == 0 {
				continue
			}
			node = entries
		case reflect.Slice:
			if f.Len() == 0 {
				continue
			}
			if f.Type().Elem().Kind() == reflect.Uint8 {
				node = hex.EncodeToString(f.Bytes())
				break
			}
			var list []any
			for j := range f.Len() {
				if e := f.Index(j); e.Kind() == reflect.Struct {
					list = append(list, ourTree(e, field.Message()))
				} else {
					list = append(list, ourScalar(e))
				}
			}
			node = list
		default:
			if f.IsZero() {
				continue
			}
			node = ourScalar(f)
		}
		tree[string(field.Name())] = node
	}
	return tree
}

func ourScalar(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		return strings.Clone(v.String())
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	default:
		panic("no scalar: " + v.Type().String())
	}
}

// treeOf is ourTree for a message.
func treeOf(t testing.TB, m abi.Message) map[string]any {
	t.Helper()
	desc := schema(t)[messageName(m)]
	if desc == nil {
		t.Fatalf("the schema has no message %s", messageName(m))
	}
	return ourTree(reflect.ValueOf(m).Elem(), desc)
}

// theirTree is the tree of a message of the official runtime.
func theirTree(m protoreflect.Message) (tree map[string]any, err error) {
	tree = map[string]any{}
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		var node any
		switch {
		case field.FullName() == "alineo.v1.SQLParam.value":
			var value abi.Value
			var rest []byte
			if value, rest, err = abi.ReadValue(v.Bytes()); err != nil || len(rest) != 0 {
				err = errNotAValue
				return false
			}
			if value.Kind == abi.KindNull {
				return true
			}
			node = valueTree(value)
		case field.IsMap():
			entries := map[string]any{}
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				entries[k.String()] = v.String()
				return true
			})
			node = entries
		case field.IsList():
			var list []any
			for i := range v.List().Len() {
				var e any
				if e, err = theirScalar(field, v.List().Get(i)); err != nil {
					return false
				}
				list = append(list, e)
			}
			node = list
		default:
			if node, err = theirScalar(field, v); err != nil {
				return false
			}
			if sub, ok := node.(map[string]any); ok && len(sub) == 0 {
				return true // an empty key is as good as none
			}
		}
		tree[string(field.Name())] = node
		return true
	})
	return tree, err
}

func theirScalar(field protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return v.Bool(), nil
	case protoreflect.StringKind:
		return v.String(), nil
	case protoreflect.BytesKind:
		return hex.EncodeToString(v.Bytes()), nil
	case protoreflect.EnumKind:
		return strconv.FormatUint(uint64(uint32(v.Enum())), 10), nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind:
		return strconv.FormatInt(v.Int(), 10), nil
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return strconv.FormatUint(v.Uint(), 10), nil
	case protoreflect.MessageKind:
		return theirTree(v.Message())
	default:
		panic("no scalar: " + field.Kind().String())
	}
}

// valueTree is a tagged value: one key, its kind.
func valueTree(v abi.Value) map[string]any {
	switch v.Kind {
	case abi.KindNull:
		return map[string]any{"null": true}
	case abi.KindInt:
		return map[string]any{"i64": strconv.FormatInt(v.Int, 10)}
	case abi.KindReal:
		return map[string]any{
			"f64":  strconv.FormatFloat(v.Real, 'g', -1, 64),
			"bits": fmt.Sprintf("%016x", math.Float64bits(v.Real)),
		}
	case abi.KindBool:
		return map[string]any{"bool": v.Int != 0}
	case abi.KindText, abi.KindJSON:
		return map[string]any{v.Kind.String(): strings.Clone(v.String())}
	case abi.KindBlob:
		return map[string]any{"blob": hex.EncodeToString(v.Bytes)}
	default:
		return map[string]any{"tag": strconv.Itoa(int(v.Kind)), "bytes": hex.EncodeToString(v.Bytes)}
	}
}
