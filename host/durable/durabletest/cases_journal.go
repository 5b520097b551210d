package durabletest

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/internal/journal"
)

func itoa(n int) string { return strconv.Itoa(n) }

func journalCases() []Case {
	return []Case{
		{Name: "JN-1", Rule: "a journal has the command's lines and then the sentinel, and nothing else", run: func(e *env) {
			m := e.machine()
			j := e.journal(m)
			e.launch(m, j, "echo one; echo two")
			e.awaitExit(j, 0)
			e.wantText("the journal", e.sh(m, "cat '%s'", j.Output()), "one\ntwo\n"+journal.Sentinel(0, j.Nonce())+"\n")
			want := "poll"
			if m.CanStream() {
				want = "follow"
			}
			e.wantText("the strategy", j.Strategy(), want)
		}},
		{Name: "JN-2", Rule: "a command that exits does not skip the sentinel", run: func(e *env) {
			m := e.machine()
			j := e.journal(m)
			e.launch(m, j, "exit 7")
			e.awaitExit(j, 7)
			e.wantText("the journal", e.sh(m, "cat '%s'", j.Output()), journal.Sentinel(7, j.Nonce())+"\n")
		}},
		{Name: "JN-3", Rule: "standard error is kept apart", run: func(e *env) {
			m := e.machine()
			j := e.journal(m)
			e.launch(m, j, "echo out; echo complaint >&2")
			e.awaitExit(j, 0)
			e.wantText("the journal", e.sh(m, "cat '%s'", j.Output()), "out\n"+journal.Sentinel(0, j.Nonce())+"\n")
			tail, err := j.Stderr(e.ctx)
			e.must(err)
			e.wantText("the standard error", string(tail), "complaint\n")
		}},
		{Name: "JN-4", Rule: "a position is where reading goes on, by polling too", run: func(e *env) {
			m := e.machine()
			j := e.journal(m, journal.Polling(time.Millisecond))
			e.launch(m, j, `printf 'one\r\ntw\377o\n'`)
			e.awaitExit(j, 0)
			all := e.read(j, 0, 3)
			e.wantText("the second line", all[1].text, "tw\xffo\n")
			again := e.read(j, all[0].end, 2)
			if again[0] != all[1] || again[1] != all[2] {
				e.Errorf("from %d on there is %v, not %v", all[0].end, again, all[1:])
			}
		}},
		{Name: "JN-5", Rule: "a line is there before the next one is written", run: func(e *env) {
			m := e.following()
			j := e.journal(m)
			e.launch(m, j, "echo one; until [ -e /tmp/gate ]; do sleep 0.1; done; echo two")
			var got []string
			err := j.Read(e.ctx, 0, func(line journal.Line) error {
				if got = append(got, string(line.Text)); len(got) == 1 {
					e.sh(m, "touch /tmp/gate")
				}
				return stopAfter(len(got), 3)
			})
			if !errors.Is(err, errEnough) {
				e.fatalf("%v", err)
			}
			e.wantText("what was read", strings.Join(got, ""), "one\ntwo\n"+journal.Sentinel(0, j.Nonce())+"\n")
		}},
		{Name: "JN-6", Rule: "a reader that is told to stop stops, although nothing is written", run: func(e *env) {
			m := e.following()
			j := e.journal(m)
			e.launch(m, j, "echo one; sleep 300")
			ctx, cancel := context.WithCancel(e.ctx)
			defer cancel()
			n := 0
			err := j.Read(ctx, 0, func(journal.Line) error {
				n++
				cancel()
				return nil
			})
			if !errors.Is(err, context.Canceled) || n != 1 {
				e.Errorf("%d lines and then %v", n, err)
			}
			e.must(j.Kill(e.ctx))
		}},
		{Name: "JN-7", Rule: "who stops streaming ends the whole process tree of the command", run: func(e *env) {
			m := e.following()
			ctx, cancel := context.WithCancel(e.ctx)
			defer cancel()
			err := m.Stream(ctx, "(while :; do printf x >>/tmp/grows; sleep 0.05; done) & tail -f /tmp/grows | while dd bs=1 count=1 2>/dev/null; do echo; done", func([]byte) error {
				cancel()
				return nil
			})
			if err == nil {
				e.Errorf("a stream that was stopped came to its end")
			}
			size := func() string { return e.sh(m, "wc -c </tmp/grows") }
			was := ""
			e.eventually("the file stands still", func() bool {
				now := size()
				still := now == was
				was = now
				e.pause(300 * time.Millisecond)
				return still
			})
			e.pause(time.Second)
			e.wantText("the size", size(), was)
		}},
		{Name: "JN-8", Rule: "a line of any length and a last line without an end come whole", run: func(e *env) {
			m := e.machine()
			j := e.journal(m)
			const length = journal.MaxLine + 1000
			e.launch(m, j, "head -c "+itoa(length)+" /dev/zero | tr '\\0' x; echo; printf end")
			e.awaitExit(j, 0)
			all := e.read(j, 0, 4)
			if len(all[0].text) != journal.MaxLine || len(all[1].text) != 1001 {
				e.Errorf("the long line comes as %d and %d bytes", len(all[0].text), len(all[1].text))
			}
			e.wantText("the last line", all[2].text, "end\n")
		}},
		{Name: "JN-9", Rule: "killing ends the command and what it started", run: func(e *env) {
			m := e.machine()
			j := e.journal(m)
			e.launch(m, j, "trap '' TERM; sleep 300 >/dev/null 2>&1 & echo $! >/tmp/child; echo up; while :; do sleep 1; done")
			e.eventually("the command is up", func() bool { return e.sh(m, "cat '%s' 2>/dev/null || :", j.Output()) == "up\n" })
			e.must(j.Kill(e.ctx))
			e.eventually("nothing of it is left", func() bool {
				alive, err := j.Alive(e.ctx)
				e.must(err)
				return !alive && strings.TrimSpace(e.sh(m, "kill -0 $(cat /tmp/child) 2>/dev/null && echo alive || echo dead")) == "dead"
			})
		}},
	}
}

var errEnough = errors.New("enough")

func stopAfter(n, most int) error {
	if n >= most {
		return errEnough
	}
	return nil
}

// following is a sandbox whose lines come one by one.
func (e *env) following() durable.Machine {
	e.Helper()
	m := e.machine()
	if !m.CanStream() {
		e.Skipf("not run: the sandbox can't stream")
	}
	return m
}

func (e *env) journal(m durable.Machine, opts ...journal.Option) *journal.Journal {
	e.Helper()
	secret := make([]byte, 16)
	_, _ = rand.Read(secret)
	nonce, err := journal.NewNonce(secret)
	e.must(err)
	j, err := journal.New(m, "/tmp/journals", "run-1", nonce, opts...)
	e.must(err)
	return j
}

func (e *env) launch(m durable.Machine, j *journal.Journal, command string) {
	e.Helper()
	e.must(m.WriteFile(e.ctx, j.Key(), []byte(j.Nonce()), 0o600))
	e.must(m.Spawn(e.ctx, j.Start(command, "/bin/sh"), durable.SpawnOptions{}))
}

func (e *env) awaitExit(j *journal.Journal, code int) {
	e.Helper()
	var exit journal.Exit
	e.eventually("the sentinel", func() bool {
		var err error
		exit, err = j.Probe(e.ctx)
		e.must(err)
		return exit.Finished
	})
	if exit.Code != code {
		e.Errorf("the exit code is %d, not %d", exit.Code, code)
	}
}

type readLine struct {
	text string
	end  int64
}

// read reads some lines.
func (e *env) read(j *journal.Journal, from int64, n int) []readLine {
	e.Helper()
	var all []readLine
	err := j.Read(e.ctx, from, func(line journal.Line) error {
		all = append(all, readLine{string(line.Text), line.End})
		return stopAfter(len(all), n)
	})
	if !errors.Is(err, errEnough) {
		e.fatalf("reading the journal: %v", err)
	}
	return all
}
