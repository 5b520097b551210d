package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// Occupant is a plugin and the module that it was made of, whose machine code it keeps for as long as it may
// have to be opened again.
type Occupant struct {
	*Plugin

	Module *Module
}

// close closes the plugin and lets go of the module.
func (o Occupant) close(ctx context.Context) error {
	err := o.Close(ctx)
	if o.Module != nil {
		err = errors.Join(err, o.Module.Close(ctx))
	}
	return err
}

// Seat holds a plugin that can be replaced while it is called: no call fails for it. It is safe for
// concurrent use.
type Seat struct {
	name     string
	changing chan struct{} // holds a token while nobody replaces the plugin or closes the seat

	mu     sync.Mutex
	now    *seated       // nil: nobody, since vacant
	held   chan struct{} // not nil: calls wait until it is closed
	vacant error         // why
	closed bool
	last   Occupant // whose Info is told of a seat without a plugin
}

// seated is an occupant and how many calls it has.
type seated struct {
	Occupant

	calls int
	idle  chan struct{} // made by whoever waits, closed when no call is left
}

// NewSeat returns a seat with a plugin in it, which the seat closes.
func NewSeat(o Occupant) *Seat {
	s := &Seat{name: o.Name(), now: &seated{Occupant: o}, last: o, changing: make(chan struct{}, 1)}
	s.changing <- struct{}{}
	return s
}

// Name is the plugin's name in alineo.toml.
func (s *Seat) Name() string { return s.name }

// Manifest is what the guest that has the seat now says about itself. It must not be changed.
func (s *Seat) Manifest() abi.Manifest { return s.occupant().Manifest() }

// Info describes the plugin that has the seat now.
func (s *Seat) Info() Info { return s.occupant().Info() }

// Vacant says why the seat has no plugin, nil when it has one.
func (s *Seat) Vacant() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vacant
}

// Closed says whether the seat was closed.
func (s *Seat) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Seat) occupant() Occupant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Call is that of the plugin which has the seat. While plugins change places and can't both be there it
// waits.
func (s *Seat) Call(ctx context.Context, op abi.Op, req abi.Message, call *capability.Call, reply abi.Message) error {
	o, failure := s.enter(ctx, op)
	if failure != nil {
		return failure
	}
	defer s.leave(o)
	return o.Call(ctx, op, req, call, reply)
}

func (s *Seat) enter(ctx context.Context, op abi.Op) (*seated, *Error) {
	for {
		s.mu.Lock()
		held, now, vacant, closed := s.held, s.now, s.vacant, s.closed
		if held == nil && now != nil && !closed {
			now.calls++
			s.mu.Unlock()
			return now, nil
		}
		s.mu.Unlock()
		switch {
		case closed:
			return nil, s.fail(op, KindClosed, errors.New("the plugin is closed"))
		case held == nil:
			return nil, s.fail(op, KindFailed, vacant)
		}
		select {
		case <-held:
		case <-ctx.Done():
			kind, err := gaveUp(ctx.Err())
			return nil, s.fail(op, kind, fmt.Errorf("waiting for the plugin to be reloaded: %w", err))
		}
	}
}

func (s *Seat) leave(o *seated) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.calls--
	if o.calls == 0 && o.idle != nil {
		close(o.idle)
		o.idle = nil
	}
}

// fail is an error of what never reached a guest.
func (s *Seat) fail(op abi.Op, kind Kind, err error) *Error {
	return &Error{Plugin: s.name, Op: op, Kind: kind, Err: err}
}

// lock lets nobody else replace the plugin until unlock.
func (s *Seat) lock(ctx context.Context) error {
	select {
	case <-s.changing:
		return nil
	default:
	}
	select {
	case <-s.changing:
		return nil
	case <-ctx.Done():
		return s.fail(0, KindBusy, fmt.Errorf("somebody else reloads it: %w", ctx.Err()))
	}
}

func (s *Seat) unlock() { s.changing <- struct{}{} }

// Replace gives the seat to another plugin, at once, and waits for the calls of the one before to end,
// which is then closed. When ctx ends first that goes on, until Close. The error is about closing: next has the seat, or is
// closed when the seat is.
func (s *Seat) Replace(ctx context.Context, next Occupant) error {
	if err := s.lock(ctx); err != nil {
		return errors.Join(err, next.close(context.WithoutCancel(ctx)))
	}
	before, failure := s.take(next)
	if failure != nil {
		s.unlock()
		return errors.Join(failure, next.close(context.WithoutCancel(ctx)))
	}
	done := make(chan error, 1)
	go func() {
		defer s.unlock()
		if before == nil {
			done <- nil
			return
		}
		<-s.idle(before) // each call has a deadline
		done <- before.close(context.WithoutCancel(ctx))
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return nil
	}
}

// take gives the seat away and returns who had it.
func (s *Seat) take(next Occupant) (*seated, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, s.fail(0, KindClosed, errors.New("the plugin is closed"))
	}
	before := s.now
	s.now, s.last, s.vacant = &seated{Occupant: next}, next, nil
	s.release()
	return before, nil
}

// release lets those go on who wait. The caller has mu.
func (s *Seat) release() {
	if s.held != nil {
		close(s.held)
		s.held = nil
	}
}

// idle is closed when nobody calls an occupant who has lost the seat, or whose seat is held.
func (s *Seat) idle(o *seated) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := make(chan struct{})
	if o.calls == 0 {
		close(idle)
	} else {
		o.idle = idle
	}
	return idle
}

// Change gives the seat to another plugin that must not be there together with the one before: calls
// are held back, those that run end, the old plugin is closed, and open makes the new one. When that
// fails, back makes the old one again, of its module. When ctx ends before the calls have, nothing is changed.
//
// failure is why the new one does not have the seat; restored says whether the old one has it again.
// closing is what went wrong when the old one was closed.
func (s *Seat) Change(ctx context.Context, open func(context.Context) (Occupant, error),
	back func(context.Context, *Module) (*Plugin, error),
) (restored bool, closing, failure error) {
	if err := s.lock(ctx); err != nil {
		return true, nil, err
	}
	defer s.unlock()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false, nil, s.fail(0, KindClosed, errors.New("the plugin is closed"))
	}
	before := s.now
	s.held = make(chan struct{})
	s.mu.Unlock()
	if before != nil {
		select {
		case <-s.idle(before):
		case <-ctx.Done():
			s.settle(nil)
			return true, nil, s.fail(0, KindBusy, fmt.Errorf("calls were still running: %w", ctx.Err()))
		}
		// From here on it must come to an end, whoever waits for it.
		ctx = context.WithoutCancel(ctx)
		closing = before.Close(ctx)
	}
	next, err := open(ctx)
	if err == nil {
		if _, refused := s.take(next); refused != nil {
			return false, errors.Join(closing, next.close(ctx)), refused
		}
		if before != nil && before.Module != nil {
			closing = errors.Join(closing, before.Module.Close(ctx))
		}
		return false, closing, nil
	}
	if before == nil {
		s.settle(err)
		return false, closing, err
	}
	p, backErr := back(ctx, before.Module)
	if backErr != nil {
		err = fmt.Errorf("%w; and the plugin that was there before does not start again: %w", err, backErr)
		closing = errors.Join(closing, before.Module.Close(ctx))
		s.settle(err)
		return false, closing, err
	}
	again := Occupant{Plugin: p, Module: before.Module}
	if _, refused := s.take(again); refused != nil {
		return false, errors.Join(closing, again.close(ctx)), refused
	}
	return true, closing, err
}

// settle ends a change that brought nothing new: with a reason the seat has nobody.
func (s *Seat) settle(vacant error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if vacant != nil {
		s.now, s.vacant = nil, fmt.Errorf("the plugin is not there since it was reloaded: %w", vacant)
	}
	s.release()
}

// Close closes the plugin as Plugin.Close does, after a change that is under way. It is idempotent.
func (s *Seat) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.release() // those who wait are turned away
	s.mu.Unlock()
	if !first {
		return nil
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	s.mu.Lock()
	now := s.now
	s.now = nil
	s.mu.Unlock()
	if now == nil {
		return nil
	}
	return now.close(ctx)
}
