package main

import (
	"errors"
	"fmt"
)

// Exit codes. run and resume pass the command's own code on, and answer for themselves with
// exitHost, so that the two can be told apart.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNotLoaded   = 3 // plugin test: no case could run
	exitHost        = 125
	exitTimeout     = 124 // the command was killed after --timeout
	exitInterrupted = 130
	exitSignal      = 137 // a signal ended the command
	exitPipe        = 141 // nobody reads our output any more
	exitTerminated  = 143
)

// exitError ends the program with a code. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// hostFailed makes an error alineo-host's own, unless it has a code already.
func hostFailed(err error) error {
	var has *exitError
	if err == nil || errors.As(err, &has) {
		return err
	}
	return &exitError{code: exitHost, err: err}
}
