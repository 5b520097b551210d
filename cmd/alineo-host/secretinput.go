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

// sourceOf reads what says where a value comes from: env:NAME, or anything that the broker knows.
func sourceOf(text string) *credential.Source {
	if text == "" {
		return nil
	}
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		return credential.Env(name)
	}
	return credential.External(text)
}
