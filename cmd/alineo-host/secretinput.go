package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// maxSecret is how much is read of a value, in bytes: more than any credential may have.
const maxSecret = 1 << 20

// readSecret reads a value from a file, from a pipe, or from whoever types it without an echo. One line
// end behind it is not a part of it.
func readSecret(ctx context.Context, file, prompt string) (credential.Secret, error) {
	var text []byte
	var err error
	switch {
	case file != "" && file != "-":
		var opened *os.File
		if opened, err = os.Open(file); err != nil {
			return credential.Secret{}, fmt.Errorf("reading the value: %w", err)
		}
		defer func() { _ = opened.Close() }() // it was only read
		text, err = io.ReadAll(io.LimitReader(opened, maxSecret+1))
	case file == "" && term.IsTerminal(int(os.Stdin.Fd())):
		text, err = typeSecret(ctx, prompt)
	default:
		text, err = pipedSecret(ctx, os.Stdin)
	}
	switch {
	case err != nil:
		return credential.Secret{}, fmt.Errorf("reading the value: %w", err)
	case len(text) > maxSecret:
		return credential.Secret{}, fmt.Errorf("reading the value: it has more than %d bytes", maxSecret)
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if len(text) == 0 {
		return credential.Secret{}, errors.New("reading the value: there is none")
	}
	return credential.NewSecret(string(text)), nil
}

// input is what was read of a value.
type input struct {
	text []byte
	err  error
}

// pipedSecret reads a value to its end, or until the caller gives up: whoever writes may never end.
func pipedSecret(ctx context.Context, from io.Reader) ([]byte, error) {
	done := make(chan input, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(from, maxSecret+1))
		done <- input{text, err}
	}()
	select {
	case in := <-done:
		return in.text, in.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// typeSecret reads a line from the terminal, which shows nothing of it.
func typeSecret(ctx context.Context, prompt string) ([]byte, error) {
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprint(os.Stderr, prompt)
	done := make(chan input, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		done <- input{text, err}
	}()
	defer func() { _, _ = fmt.Fprintln(os.Stderr) }()
	select {
	case t := <-done:
		return t.text, t.err
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), term.Restore(fd, before)) // else the shell has no echo
	}
}

// askCredential asks whoever is at the terminal for a value that the host can't get by itself.
func (a *app) askCredential(ctx context.Context, name string, source credential.Source) (credential.Secret, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !a.out.terminal {
		return credential.Secret{}, nil
	}
	value, err := readSecret(ctx, "", fmt.Sprintf("value of credential %q (%s): ", name, source))
	if err != nil {
		return credential.Secret{}, err
	}
	return value, nil
}

// sourceOf reads what says where a value comes from: env:NAME, or anything that the broker knows. The error
// doesn't repeat it: who mistakes it for the place of the value has typed that there.
func sourceOf(text string) (*credential.Source, error) {
	const ways = "env:NAME, secret:NAME, vault:MOUNT/PATH#KEY, or what else the broker knows; a value is never an argument, give it on standard input"
	if text == "" {
		return nil, nil //nolint:nilnil // none was given
	}
	scheme, rest, ok := strings.Cut(text, ":")
	switch {
	case !ok || scheme == "" || rest == "":
		return nil, errors.New("what stands there does not say where a value is (" + ways + ")")
	case scheme != "env":
		return credential.External(text), nil
	case !variableName(rest):
		return nil, errors.New("what follows env: is not the name of a variable (" + ways + ")")
	}
	return credential.Env(rest), nil
}

// variableName tells what shells take for one.
func variableName(text string) bool {
	for i, r := range text {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return text != ""
}

// typed are texts of a command line that could be values, put where a name or a place was meant: no error
// repeats them. A reference with a word in front that every broker of ours knows is none.
type typed struct{ hide *credential.Redactor }

func newTyped() typed { return typed{credential.NewRedactor()} }

func (t typed) source(text string) {
	switch scheme, _, _ := strings.Cut(text, ":"); scheme {
	case "env", "secret", "vault":
	default:
		t.hide.Add(credential.NewSecret(text))
	}
}

func (t typed) binding(f *bindingFlags) {
	for _, text := range append([]string{f.header}, f.headers...) {
		name, other, _ := strings.Cut(text, "=")
		if strings.ContainsAny(name, ": \t") {
			t.hide.Add(credential.NewSecret(name))
			_, name, _ = strings.Cut(name, ":")
			t.hide.Add(credential.NewSecret(strings.TrimSpace(name)))
		}
		t.hide.Add(credential.NewSecret(other))
	}
}

// clean is err without them.
func (t typed) clean(err error) error {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return &exitError{code: exit.code, err: t.hide.Error(exit.err)}
	}
	return t.hide.Error(err)
}
