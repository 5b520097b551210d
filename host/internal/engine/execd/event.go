package execd

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// event is one message of a stream. The order of its fields is the wire's.
type event struct {
	Type          string      `json:"type"`
	Text          string      `json:"text,omitempty"`
	ExecutionTime int64       `json:"execution_time,omitempty"` // milliseconds
	Timestamp     int64       `json:"timestamp"`                // Unix milliseconds
	Error         *eventError `json:"error,omitempty"`
}

type eventError struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

const pingEvery = 3 * time.Second

// eventStream writes events to a response: bare JSON and a blank line each.
// After the reader has gone it swallows them. Safe for concurrent use.
type eventStream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	flush func() error
	gone  bool
	ended bool
	stop  chan struct{}
	done  chan struct{}
}

func newEventStream(w http.ResponseWriter) *eventStream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no")
	return &eventStream{w: w, flush: http.NewResponseController(w).Flush, stop: make(chan struct{}), done: make(chan struct{})}
}

// open sends the init event and the first ping, and keeps pinging until end.
func (s *eventStream) open(id string) {
	s.send(event{Type: "init", Text: id})
	s.send(event{Type: "ping", Text: "pong"})
	s.flushNow()
	go func() {
		defer close(s.done)
		t := time.NewTicker(pingEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				s.send(event{Type: "ping", Text: "pong"})
				s.flushNow()
			case <-s.stop:
				return
			}
		}
	}()
}

// end sends the terminal event; nothing is written after it.
func (s *eventStream) end(e event) {
	close(s.stop)
	<-s.done
	s.send(e)
	s.flushNow()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
}

func (s *eventStream) send(e event) {
	e.Timestamp = time.Now().UnixMilli()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.ended {
		return
	}
	b, err := json.Marshal(e)
	if err != nil { // strings and numbers only: can't happen
		s.gone = true
		return
	}
	if _, err := s.w.Write(append(b, '\n', '\n')); err != nil {
		s.gone = true
	}
}

func (s *eventStream) flushNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone && !s.ended && s.flush() != nil {
		s.gone = true
	}
}
