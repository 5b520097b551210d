package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/schema"
)

// check is a rule for a plugin of any kind.
type check struct {
	name, rule string
	run        func(*checked) error
}

// checks returns every such rule, in the order in which they run.
func checks() []check {
	return []check{
		{"plugin/manifest", "the manifest says for what the plugin wants each of its capabilities, and declares nothing twice", checkManifest},
		{"plugin/describe", "the manifest is the same each time, and in each instance", checkDescribe},
		{"plugin/schema", "the schema of the configuration is a JSON Schema", checkSchema},
		{"plugin/echo", "echo answers with the bytes that it got, also with many", checkEcho},
		{"plugin/unknown", "operations that it does not have are answered with unsupported", checkUnknown},
		{"plugin/optional", "an optional operation that the manifest does not list is answered with unsupported", checkOptional},
		{"plugin/garbage", "a request that can't be read is answered with invalid, and the next one is served", checkGarbage},
		{"plugin/memory", "10,000 calls don't make an instance's memory grow", checkMemory},
	}
}

// checked is a loaded plugin with storage of its own.
type checked struct {
	*instance
	ctx   context.Context //nolint:containedctx // of one check
	again func() (*instance, error)
	notes []string
}

func (c *checked) notef(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// runChecks runs those that match, one after another. After the first that runs out of time the others
// are left out: each would cost its deadline.
func (s *subject) runChecks(ctx context.Context, ended func(Case)) {
	late := ""
	for _, one := range checks() {
		if !s.matches(one.name) {
			continue
		}
		c := Case{Name: one.name, Rule: one.rule, Status: NotRun, Messages: []string{"the check was stopped"}}
		switch {
		case ctx.Err() != nil:
		case late != "":
			c.Messages = []string{"not run: " + late + " ran out of time before it; name it with --run to try it"}
		default:
			began := time.Now()
			c.Status, c.Messages = Passed, nil
			notes, err := s.check(ctx, one)
			if err != nil {
				c.Status, c.Messages = Failed, append(strings.Split(err.Error(), "\n"), notes...)
				s.explain(&c)
			}
			if c.Failure == plugin.KindDeadline.String() {
				late = c.Name
			}
			c.Took = time.Since(began)
		}
		ended(c)
	}
}

// check runs one check on storage of its own.
func (s *subject) check(ctx context.Context, one check) (notes []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Deadline)
	defer cancel()
	t := &temporary{ctx: ctx, dir: s.opts.Dir}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		t.cleanUp()
		for _, text := range t.errors {
			err = errors.Join(err, errors.New(text))
		}
	}()
	at, err := s.place(t)
	if err != nil {
		return nil, fmt.Errorf("making storage: %w", err)
	}
	open := func() (*instance, error) {
		p, err := s.open(ctx, at, one.name)
		if err == nil {
			// How it closes is the business of handle/close.
			t.Cleanup(func() { _ = p.Close(context.WithoutCancel(ctx)) })
		}
		return p, err
	}
	p, err := open()
	if err != nil {
		return nil, err
	}
	c := &checked{instance: p, ctx: ctx, again: open}
	err = one.run(c)
	return c.notes, err
}

func checkManifest(c *checked) error {
	var errs []error
	m := c.Manifest()
	seen := map[string]bool{}
	for _, want := range m.Capabilities {
		what := fmt.Sprintf("%s %q", want.Name, want.Resource)
		if strings.TrimSpace(want.Reason) == "" {
			errs = append(errs, fmt.Errorf("it wants %s and gives no reason; the operator who has to grant it reads the reason", what))
		}
		if seen[what] {
			errs = append(errs, fmt.Errorf("it wants %s twice", what))
		}
		seen[what] = true
	}
	for _, list := range [...][]string{m.Kinds, m.Optional} {
		for i, word := range list {
			for _, other := range list[:i] {
				if word == other {
					errs = append(errs, fmt.Errorf("it declares %q twice", word))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func checkDescribe(c *checked) error {
	want := c.Manifest()
	other, err := c.again()
	if err != nil {
		return fmt.Errorf("loading it again: %w", err)
	}
	if got := other.Manifest(); !reflect.DeepEqual(got, want) {
		return fmt.Errorf("another instance describes itself differently:\n got %+v\nwant %+v", got, want)
	}
	for range 2 {
		var got abi.Manifest
		if err := c.Call(c.ctx, abi.OpDescribe, nil, nil, &got); err != nil {
			return fmt.Errorf("asking a configured instance again: %w", err)
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("asked again it describes itself differently:\n got %+v\nwant %+v", got, want)
		}
	}
	return nil
}

func checkSchema(c *checked) error {
	s, err := schema.Parse(c.Manifest().ConfigSchema) // which the host refused if it were none
	if err == nil && len(s.Unchecked()) > 0 {
		c.notef("the host leaves these words of the schema to the guest: %s", strings.Join(s.Unchecked(), ", "))
	}
	return err
}

func checkEcho(c *checked) error {
	for _, size := range [...]int{0, 1, 127, 128, 4 << 10, 64 << 10, 1 << 20, 3} {
		body := raw(bytes.Repeat([]byte("\x00echo\xff"), size/6+1)[:size])
		var got raw
		if err := c.Call(c.ctx, abi.OpEcho, &body, nil, &got); err != nil {
			return fmt.Errorf("echo of %d bytes: %w", size, err)
		}
		if !bytes.Equal(got, body) {
			return fmt.Errorf("echo of %d bytes answers with %d other bytes", size, len(got))
		}
	}
	return nil
}

// unknown are operations that nobody has: of groups that are reserved, of the host, of none.
func unknown() []abi.Op { return []abi.Op{0, 0x0f, 0xfff, abi.OpSQLExec, 0x7fffffff, 0xffffffff} }

func checkUnknown(c *checked) error {
	var errs []error
	for _, op := range unknown() {
		body := raw("who knows")
		err := c.Call(c.ctx, op, &body, nil, nil)
		code, ok := guestCode(err)
		if !ok || code != abi.CodeUnsupported {
			errs = append(errs, fmt.Errorf("operation %s: the answer is %s, want the guest's error %q", op, answer(err), abi.CodeUnsupported))
		}
		if err != nil && !ok {
			break // it has no answers
		}
	}
	return errors.Join(errs...)
}

func checkOptional(c *checked) error {
	var errs []error
	for _, op := range operations() {
		if !op.Optional() || slices.Contains(c.Manifest().Optional, op.String()) {
			continue
		}
		err := c.Call(c.ctx, op, nil, nil, nil)
		if code, ok := guestCode(err); !ok || code != abi.CodeUnsupported {
			errs = append(errs, fmt.Errorf("%s, which is not listed: the answer is %s, want the guest's error %q", op, answer(err), abi.CodeUnsupported))
			if err != nil && !ok {
				break // it has no answers
			}
		}
	}
	return errors.Join(errs...)
}

// operations are all that a guest may have.
func operations() []abi.Op {
	var all []abi.Op
	for op := abi.OpLedgerOpen; op < abi.OpSQLExec; op++ {
		if !strings.HasPrefix(op.String(), "0x") {
			all = append(all, op)
		}
	}
	return all
}

// readable are the operations of stores whose requests have fields.
func readable() []abi.Op {
	return slices.DeleteFunc(operations(), func(op abi.Op) bool {
		return op == abi.OpEnvironmentList || op == abi.OpLedgerStats || op > abi.OpLocksRelease
	})
}

// garbage are requests that a reader must refuse, whatever the message.
func garbage() map[string]string {
	return map[string]string{
		"a field that ends inside its length": "\x0a\xff",
		"a length beyond the end":             "\x0a\x7fx",
		"a varint of eleven bytes":            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"a wire type that is none":            "\x0f",
		"field number 0":                      "\x00\x00",
	}
}

func checkGarbage(c *checked) error {
	var errs []error
	for _, op := range readable() {
		for what, request := range garbage() {
			body := raw(request)
			err := c.Call(c.ctx, op, &body, nil, nil)
			code, ok := guestCode(err)
			if ok && code == abi.CodeUnsupported {
				break // it lacks the operation
			}
			if !ok || code != abi.CodeInvalid {
				errs = append(errs, fmt.Errorf("%s with %s: the answer is %s, want the guest's error %q", op, what, answer(err), abi.CodeInvalid))
				if err != nil && !ok {
					return errors.Join(errs...) // it has no answers
				}
				break
			}
		}
		if err := c.Call(c.ctx, abi.OpEcho, nil, nil, nil); err != nil {
			return errors.Join(append(errs, fmt.Errorf("echo after garbage for %s: %w", op, err))...)
		}
	}
	return errors.Join(errs...)
}

// What checkMemory does, and what it lets pass. A garbage collector grows its heap until it first
// collects, which happens within some rounds; what is kept for ever makes each of them grow.
const (
	rounds      = 5
	roundCalls  = 10_000
	grownAtMost = 16 // pages of 64 KiB in a round, by one instance
)

func checkMemory(c *checked) error {
	var pages []string
	last := c.Info().HighPages
	for round := range rounds {
		if err := c.exercise(roundCalls); err != nil {
			return err
		}
		now := c.Info().HighPages
		grown := now - last
		if round > 0 && grown <= grownAtMost {
			return nil
		}
		pages, last = append(pages, strconv.Itoa(now)), now
	}
	return fmt.Errorf("memory grows with every %d calls, to %s pages of 64 KiB: the guest keeps something of each call",
		roundCalls, strings.Join(pages, ", "))
}

// exercise makes calls that leave nothing behind.
func (c *checked) exercise(calls int) error {
	look, asked := abi.OpEcho, abi.Message(nil)
	for kind, one := range map[string]abi.Op{"instances": abi.OpInstancesGet, "runs": abi.OpRunsGet} {
		if slices.Contains(c.Manifest().Kinds, kind) {
			look, asked = one, &abi.KeyRequest{Key: "memory"}
		}
	}
	if slices.Contains(c.Manifest().Kinds, "ledger") {
		look, asked = abi.OpLedgerGetSandbox, &abi.SandboxRequest{Key: abi.SandboxKey{Name: "memory", SandboxID: "0b9fb3d2-7f33-4c1c-9d0f-2a9a3f2f7c11"}}
	}
	if slices.Contains(c.Manifest().Kinds, kindBroker) {
		look, asked = abi.OpBrokerResolve, &abi.BrokerResolveRequest{Name: "memory"}
	}
	body := raw(bytes.Repeat([]byte("x"), 512))
	for i := range calls {
		var err error
		if i%4 == 0 {
			err = c.Call(c.ctx, look, asked, nil, nil)
		} else {
			err = c.Call(c.ctx, abi.OpEcho, &body, nil, nil)
		}
		code, ok := guestCode(err)
		refused := ok && (code == abi.CodeNotFound || look == abi.OpBrokerResolve && (code == abi.CodeUnsupported || code == abi.CodeInvalid))
		if err != nil && !refused {
			return fmt.Errorf("call %d: %w", i+1, err)
		}
	}
	return nil
}

// raw is a message that is its own wire form.
type raw []byte

// AppendTo implements abi.Message.
func (r *raw) AppendTo(dst []byte) []byte { return append(dst, *r...) }

// Unmarshal implements abi.Message.
func (r *raw) Unmarshal(src []byte) error {
	*r = src
	return nil
}

// guestCode is the code of an error with which the guest answered.
func guestCode(err error) (abi.Code, bool) {
	guest, ok := errors.AsType[*abi.Error](err)
	if !ok || !plugin.IsKind(err, plugin.KindGuest) {
		return abi.CodeOK, false
	}
	return guest.Code, true
}

// answer says what came of a call.
func answer(err error) string {
	if err == nil {
		return "a reply"
	}
	return err.Error()
}
