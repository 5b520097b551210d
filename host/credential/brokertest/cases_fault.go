package brokertest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
)

func faultCases() []Case {
	return []Case{
		{"fault/starting", "a sidecar that is still starting is asked again", faultStarting},
		{"fault/interference", "a change that somebody else's change came before is made all the same", faultInterference},
		{"fault/no-proxy", "a sandbox without the credential proxy is ErrNoProxy", faultNoProxy},
		{"fault/refused", "what the sidecar says against it is in the error, and is ErrInvalid", faultRefused},
		{"fault/plain", "a sidecar that takes no secrets over a plain connection is ErrDenied, with what to do", faultPlain},
		{"fault/failing", "a sidecar that fails again and again is ErrUnavailable, before the call's time is over", faultFailing},
		{"fault/garbage", "an answer that is none is an error", faultGarbage},
		{"fault/silent", "an error never has the value, though the sidecar repeats it", faultSilent},
		{"fault/canceled", "a caller that gives up is not kept waiting", faultCanceled},
	}
}

func faultStarting(e *env) {
	s := e.sidecar(SidecarOptions{})
	s.Answer(Answer{Status: 502}, Answer{Status: 412, Text: "credential vault: the proxy is not ready"})
	e.set(s, "key", "value-1", keyed("a.example"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-1")
	s.Answer(Answer{Status: 500, Text: "internal"})
	e.must("removing", e.Remove(e.ctx, s.Sandbox(), "key"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "")
}

func faultInterference(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "key", "value-1", keyed("a.example"))
	s.Interfere(2)
	e.set(s, "two", "value-2", keyed("b.example"))
	s.Interfere(1)
	value := credential.NewSecret("value-3")
	e.must("changing", e.Patch(e.ctx, s.Sandbox(), "key", credential.Change{Value: &value}))
	s.Interfere(1)
	e.must("removing", e.Remove(e.ctx, s.Sandbox(), "two"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-3")
	e.header(s, Request{Host: "b.example"}, "X-Api-Key", "")
}

func faultNoProxy(e *env) {
	s := e.sidecar(SidecarOptions{NoProxy: true})
	err := e.Set(e.ctx, s.Sandbox(), "key", credential.NewSecret("value-1"), keyed("a.example"))
	e.wantErr("binding in a sandbox without the proxy", err, credential.ErrNoProxy)
	other := e.sidecar(SidecarOptions{})
	other.Answer(slices.Repeat([]Answer{{Status: 404, Text: "not found"}}, 8)...) // whatever it asks for first
	err = e.Set(e.ctx, other.Sandbox(), "key", credential.NewSecret("value-1"), keyed("a.example"))
	e.wantErr("binding where there is no vault", err, credential.ErrNoProxy)
}

func faultRefused(e *env) {
	s := e.sidecar(SidecarOptions{})
	s.Answer(Answer{Status: 400, Text: `bindings "a" and "b" can match the same request`})
	err := e.Set(e.ctx, s.Sandbox(), "key", credential.NewSecret("value-1"), keyed("a.example"))
	e.wantErr("binding what is refused", err, credential.ErrInvalid)
	if err != nil && !strings.Contains(err.Error(), "can match the same request") {
		e.Errorf("the error does not say why: %v", err)
	}
}

func faultPlain(e *env) {
	s := e.sidecar(SidecarOptions{})
	s.Answer(Answer{Status: 426, Text: "credential vault requires TLS or loopback"})
	err := e.Set(e.ctx, s.Sandbox(), "key", credential.NewSecret("value-1"), keyed("a.example"))
	e.wantErr("binding over a plain connection", err, credential.ErrDenied)
	if err != nil && !strings.Contains(err.Error(), "use_server_proxy") {
		e.Errorf("the error does not say what to do: %v", err)
	}
}

func faultFailing(e *env) {
	s := e.sidecar(SidecarOptions{})
	answers := make([]Answer, 50)
	for i := range answers {
		answers[i] = Answer{Status: 500, Text: "internal"}
	}
	s.Answer(answers...)
	err := e.Set(e.ctx, s.Sandbox(), "key", credential.NewSecret("value-1"), keyed("a.example"))
	e.wantErr("binding while the sidecar fails", err, credential.ErrUnavailable, credential.ErrUnknownOutcome)
	if calls := s.Calls(); calls < 2 || calls > 20 {
		e.Errorf("the sidecar was asked %d times", calls)
	}
}

func faultGarbage(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "key", "value-1", keyed("a.example"))
	for _, text := range []string{"<html>hello</html>", `{"revision":"x"}`, `[]`, ""} {
		s.Answer(Answer{Status: 200, Text: text})
		if list, err := e.ListBindings(e.ctx, s.Sandbox()); err == nil {
			e.Errorf("of the answer %q the list is %v", text, list)
		}
	}
	e.equal("what is bound after that", names(e.list(s)), map[string]bool{"key": true})
}

// forms are how a value could be repeated.
func forms(value string) []string {
	escaped, err := json.Marshal(value)
	if err != nil {
		return []string{value}
	}
	return []string{value, strings.Trim(string(escaped), `"`), url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte(value))}
}

func faultSilent(e *env) {
	const value = `canary-"5ecret"-<&>`
	for _, status := range []int{400, 403, 409, 413, 426, 500} {
		s := e.sidecar(SidecarOptions{})
		answers := make([]Answer, 12)
		for i := range answers {
			answers[i] = Answer{Status: status, Text: "refused: ", Echo: true}
		}
		if status == 500 {
			answers = append(answers[:1], Answer{Status: 400, Text: value, Echo: true}) // after one more attempt
		}
		s.Answer(answers...)
		err := e.Set(e.ctx, s.Sandbox(), "key", credential.NewSecret(value), keyed("a.example"))
		if err == nil {
			e.Errorf("status %d is no error", status)
			continue
		}
		for _, form := range forms(value) {
			if strings.Contains(err.Error(), form) {
				e.Errorf("status %d: the error has the value: %v", status, err)
			}
		}
	}
}

func faultCanceled(e *env) {
	s := e.sidecar(SidecarOptions{})
	s.Answer(Answer{Hang: true})
	ctx, cancel := context.WithTimeout(e.ctx, 200*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- e.Set(ctx, s.Sandbox(), "key", credential.NewSecret("value-1"), keyed("a.example")) }()
	select {
	case err := <-done:
		if err == nil {
			e.Errorf("a call whose caller gave up ended without an error")
		}
	case <-time.After(10 * time.Second):
		e.Errorf("a call whose caller gave up goes on")
	}
	e.set(s, "key", "value-2", keyed("a.example"))
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-2")
}
