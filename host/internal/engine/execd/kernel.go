//go:build unix

package execd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// startWithin is how long an interpreter has to start.
	startWithin = 60 * time.Second
	// maxReply bounds an interpreter's message.
	maxReply = 64 << 20
	// askAgain is after how long an interpreter that was asked to stop a cell,
	// and that may be too busy to listen, gets a signal.
	askAgain = 200 * time.Millisecond
)

// reply is a message of a driver (see drivers/).
type reply struct {
	Type  string  `json:"type"` // ready, begun, result, error, done
	Count int     `json:"count"`
	Data  results `json:"data"`
	Asks  bool    `json:"asks"` // of ready: the driver can be asked to interrupt a cell
	eventError
}

// kernel is an interpreter that lives. It runs one cell at a time; its user
// sees to that.
type kernel struct {
	proc           *Process
	requests       *os.File
	replies        chan reply // closed when there will be no more
	answers        *os.File
	stdout, stderr *tap
	asks           bool // see ask
}

// startKernel starts a language's interpreter and waits until it is ready.
func (s *Server) startKernel(language, dir string) (*kernel, error) {
	path, args, err := s.interpreterOf(language)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("working directory does not exist: %w", err)
	}
	k := &kernel{replies: make(chan reply)}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			k.close()
		}
	}()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, null)
	var w *os.File
	if k.stdout, w, err = newTap(); err != nil {
		return nil, err
	}
	theirs = append(theirs, w)
	if k.stderr, w, err = newTap(); err != nil {
		return nil, err
	}
	theirs = append(theirs, w)
	r, requests, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the pipe to %s: %w", path, err)
	}
	k.requests = requests
	theirs = append(theirs, r)
	if k.answers, w, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("making the pipe from %s: %w", path, err)
	}
	theirs = append(theirs, w)
	fds := make([]uintptr, len(theirs))
	for i, f := range theirs {
		fds[i] = f.Fd()
	}
	attr := &syscall.ProcAttr{Dir: dir, Env: s.environ(nil), Files: fds, Sys: &syscall.SysProcAttr{Setsid: true, Credential: s.credential(nil, nil)}}
	if k.proc, err = s.opts.Table.Start(path, append([]string{filepath.Base(path)}, args...), attr); err != nil {
		return nil, err
	}
	go k.listen()
	var errs []byte
	k.stderr.to(func(b []byte) {
		if len(errs) < 4096 {
			errs = append(errs, b...)
		}
	})
	t := time.NewTimer(startWithin)
	defer t.Stop()
	select {
	case m := <-k.replies:
		if m.Type == "ready" {
			k.stderr.to(nil)
			k.asks = m.Asks
			return k, nil
		}
		k.proc.killSession()
		<-k.proc.Done
		k.stderr.flush()
		_, how := verdict(k.proc)
		err = fmt.Errorf("%s did not start: %s: %s", path, how, errs)
	case <-t.C:
		err = fmt.Errorf("%s did not start within %v", path, startWithin)
	}
	return nil, err
}

// listen passes the driver's messages on until there are no more.
func (k *kernel) listen() {
	defer close(k.replies)
	rd := bufio.NewReaderSize(k.answers, 16<<10)
	for {
		var line []byte
		for {
			part, err := rd.ReadSlice('\n')
			if line = append(line, part...); err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxReply {
				return
			}
		}
		var m reply
		if json.Unmarshal(line, &m) != nil {
			return // the cells have got hold of the driver's descriptor
		}
		k.replies <- m
	}
}

// send gives the driver a cell.
func (k *kernel) send(code string, typed bool) error {
	b, err := json.Marshal(struct {
		Code  string `json:"code"`
		Typed bool   `json:"typed"`
	}{code, typed})
	if err != nil {
		return fmt.Errorf("wording a cell: %w", err)
	}
	_, err = k.requests.Write(append(b, '\n'))
	return err
}

// ask asks the driver to interrupt a cell, if it is one that can be asked:
// node loses signals that come as it turns from running code to waiting. The
// driver passes the signal on to its process group.
func (k *kernel) ask(count int) bool {
	if !k.asks {
		return false
	}
	_, err := fmt.Fprintf(k.requests, "{\"interrupt\":%d}\n", count)
	return err == nil
}

// alive tells whether it can take another cell.
func (k *kernel) alive() bool {
	select {
	case <-k.proc.Done:
		return false
	default:
		return true
	}
}

// close ends the interpreter and whatever it started.
func (k *kernel) close() {
	if k.proc != nil {
		k.proc.endSession()
	}
	for _, f := range []*os.File{k.requests, k.answers} {
		if f != nil {
			_ = f.Close()
		}
	}
	for _, t := range []*tap{k.stdout, k.stderr} {
		if t != nil {
			t.close()
		}
	}
	if k.proc != nil {
		for range k.replies { //nolint:revive // until listen has ended
		}
	}
}
