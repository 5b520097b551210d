package abi_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

// newMessage makes an empty message of the same type.
func newMessage(m abi.Message) abi.Message {
	return reflect.New(reflect.TypeOf(m).Elem()).Interface().(abi.Message)
}

func TestRoundTripOfEverySample(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			wire := s.message.AppendTo([]byte("prefix"))
			if !bytes.HasPrefix(wire, []byte("prefix")) {
				t.Fatal("AppendTo changed what was there before")
			}
			wire = wire[len("prefix"):]
			got := newMessage(s.message)
			if err := got.Unmarshal(wire); err != nil {
				t.Fatalf("Unmarshal(%x): %v", wire, err)
			}
			if !reflect.DeepEqual(got, s.message) {
				t.Errorf("round trip of %#v gave %#v", s.message, got)
			}
			// A second decode into the same variable must not keep anything of the first.
			if err := got.Unmarshal(nil); err != nil {
				t.Fatalf("Unmarshal(nil): %v", err)
			}
			if rest := got.AppendTo(nil); len(rest) != 0 {
				t.Errorf("after Unmarshal(nil) the message still encodes to %x", rest)
			}
			if err := got.Unmarshal(wire); err != nil {
				t.Fatalf("second Unmarshal: %v", err)
			}
			if again := got.AppendTo(nil); !bytes.Equal(again, wire) {
				t.Errorf("decoding into a used variable gave %x, want %x", again, wire)
			}
			// Any strict prefix decodes or fails as malformed; it never panics.
			for n := range wire {
				if err := newMessage(s.message).Unmarshal(wire[:n]); err != nil && !errors.Is(err, abi.ErrMalformed) {
					t.Errorf("prefix of %d bytes: %v does not wrap ErrMalformed", n, err)
				}
			}
		})
	}
}
