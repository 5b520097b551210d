package execd

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// event is one message of a stream. The order of its fields is the wire's.
type event struct {
	Type          string      `json:"type"`
	Text          string      `json:"text,omitempty"`
	Count         int         `json:"execution_count,omitempty"`
	ExecutionTime int64       `json:"execution_time,omitempty"` // milliseconds
	Timestamp     int64       `json:"timestamp"`                // Unix milliseconds
	Results       results     `json:"results,omitempty"`
	Error         *eventError `json:"error,omitempty"`
}

// results are a value in several forms: by MIME type, but that plain text is
// called "text".
type results map[string]json.RawMessage

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
	log   hclog.Logger
	flush func() error
	gone  bool
	ended bool
	stop  chan struct{}
	done  chan struct{}
}

func newEventStream(w http.ResponseWriter, log hclog.Logger) *eventStream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no")
	return &eventStream{w: w, log: log, flush: http.NewResponseController(w).Flush, stop: make(chan struct{}), done: make(chan struct{})}
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
	b, err := json.Marshal(e)
	if err != nil { // only a result that is no JSON could be the reason
		s.log.Error("wording an event", "op", "stream", "err", err)
		return
	}
	s.write(bytes.NewReader(append(b, '\n', '\n')))
}

// write sends whole events, which come in parts.
func (s *eventStream) write(parts ...io.Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range parts {
		if s.gone || s.ended {
			return
		}
		if _, err := io.Copy(s.w, part); err != nil {
			s.gone = true
		}
	}
}

// fail ends the stream with what the wire has for failures of the server
// itself: an object without a type, and no line end.
func (s *eventStream) fail(message string) {
	close(s.stop)
	<-s.done
	b, err := json.Marshal(apiError{Code: codeRuntime, Message: message})
	if err == nil {
		s.write(bytes.NewReader(b))
	}
	s.flushNow()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
}

func (s *eventStream) flushNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone && !s.ended && s.flush() != nil {
		s.gone = true
	}
}
