package adapter_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero/api"

	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
	"github.com/alineo-labs/alineo-host/plugins"
)

// memories finds the memories of a plugin's instances, wherever it keeps them.
func memories(from reflect.Value, seen map[unsafe.Pointer]bool, found map[api.Memory]bool) {
	switch from.Kind() {
	case reflect.Pointer:
		if from.IsNil() || seen[from.UnsafePointer()] {
			return
		}
		seen[from.UnsafePointer()] = true
		memories(from.Elem(), seen, found)
	case reflect.Interface:
		if from.IsNil() {
			return
		}
		if from.Type() == reflect.TypeFor[api.Memory]() && from.CanAddr() {
			found[*(*api.Memory)(from.Addr().UnsafePointer())] = true
			return
		}
		memories(from.Elem(), seen, found)
	case reflect.Struct:
		for _, field := range from.Fields() {
			memories(field, seen, found)
		}
	case reflect.Slice, reflect.Array:
		switch from.Type().Elem().Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Struct:
			for i := range from.Len() {
				memories(from.Index(i), seen, found)
			}
		default:
		}
	case reflect.Map:
		for entries := from.MapRange(); entries.Next(); {
			memories(entries.Value(), seen, found)
		}
	default:
	}
}

// TestPostgresKeepsSecrets looks for the password in errors, in what is logged, and in the memory of
// the guest, while the server can be used and while it can't.
func TestPostgresKeepsSecrets(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{HBA: "host all all 127.0.0.1/32 scram-sha-256"})
	name, _ := server.Database(t)
	password, marker := rand.Text(), rand.Text()
	server.Exec(t, "ALTER ROLE "+pgtest.Role+" PASSWORD '"+password+"'")
	rt := newRuntime(t)
	for way, dsn := range map[string]string{
		"good":     fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=disable", pgtest.Role, password, server.Port, name),
		"list":     fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=%s sslmode=disable", server.Port, pgtest.Role, password, name),
		"refused":  fmt.Sprintf("postgres://nobody:%s@127.0.0.1:%d/%s", password, server.Port, name),
		"no base":  fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/nothing", pgtest.Role, password, server.Port),
		"no name":  fmt.Sprintf("postgres://%s:%s@nowhere.invalid/%s", pgtest.Role, password, name),
		"no port":  fmt.Sprintf("postgres://%s:%s@127.0.0.1:1/%s", pgtest.Role, password, name),
		"no certs": fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/%s?sslmode=verify-full", pgtest.Role, password, server.Port, name),
	} {
		var logged bytes.Buffer
		logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &logged})
		db, err := postgres.Open(postgres.Options{DSN: dsn, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := plugins.Find("postgres")
		if err != nil {
			t.Fatal(err)
		}
		caps := capability.NewSet(capability.SetOptions{Plugin: "postgres", Databases: map[string]capability.Database{"ledger": db}, Logger: logger})
		p, err := rt.Load(t.Context(), plugin.Spec{
			Name: "postgres", Wasm: bundle.Wasm, SHA256: bundle.SHA256, Caps: caps, Limits: patient, Config: json.RawMessage(`{"schema":"public"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		l := adapter.NewLedger(p)
		_, openErr := l.OpenLedger(t.Context(), store.Key{Name: "run", SandboxID: marker})
		_, listErr := l.ListSandboxes(t.Context(), store.ListOptions{})
		if good := way == "good" || way == "list"; (openErr == nil) != good {
			t.Errorf("%s: %v", way, openErr)
		}
		info, infoErr := db.Info(t.Context())
		found := map[api.Memory]bool{}
		memories(reflect.ValueOf(p), map[unsafe.Pointer]bool{}, found)
		seen := false
		for memory := range found {
			all, ok := memory.Read(0, memory.Size())
			if !ok {
				t.Fatal("a memory can't be read")
			}
			seen = seen || bytes.Contains(all, []byte(marker))
			if bytes.Contains(all, []byte(password)) || bytes.Contains(all, []byte("127.0.0.1")) {
				t.Errorf("%s: the guest's memory has the password or the address", way)
			}
		}
		if !seen {
			t.Errorf("%s: what the guest was asked is not in the %d memories that were found", way, len(found))
		}
		if err := errors.Join(l.Close(context.Background()), caps.Close()); err != nil {
			t.Error(err)
		}
		said := fmt.Sprintf("%s %v %v %+v %v %s", logged.String(), openErr, listErr, info, infoErr, postgres.Where(dsn))
		if strings.Contains(said, password) {
			t.Errorf("%s: the password was told: %s", way, said)
		}
	}
}
