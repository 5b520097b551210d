package abi_test

import (
	"errors"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	body, err := abi.ParseFrame(abi.AppendOK(nil, nil))
	if err != nil || len(body) != 0 {
		t.Errorf("an empty reply: %x, %v", body, err)
	}
	body, err = abi.ParseFrame(abi.AppendOK(nil, &abi.DeleteReply{Rows: 3}))
	var reply abi.DeleteReply
	if err == nil {
		err = reply.Unmarshal(body)
	}
	if err != nil || reply.Rows != 3 {
		t.Errorf("a reply: %+v, %v", reply, err)
	}

	for code, want := range map[abi.Code]abi.Code{
		abi.CodeInvalid: abi.CodeInvalid, abi.CodeInternal: abi.CodeInternal, abi.CodeOK: abi.CodeInternal, 11: abi.CodeInternal, 1 << 31: abi.CodeInternal,
	} {
		_, err = abi.ParseFrame(abi.AppendError(nil, &abi.Error{Code: code, Message: "m", Details: map[string]string{"k": "v"}}))
		var e *abi.Error
		if !errors.As(err, &e) || e.Code != want || e.Message != "m" || e.Details["k"] != "v" {
			t.Errorf("an error of code %d: %v", code, err)
		}
	}

	for _, garbage := range [][]byte{nil, {2}, {0xff, 0}, {1, 0x08}, {1, 0x12, 1, 0xff}} {
		_, err := abi.ParseFrame(garbage)
		var e *abi.Error
		if !errors.Is(err, abi.ErrFrame) || errors.As(err, &e) {
			t.Errorf("%x: %v, want ErrFrame", garbage, err)
		}
	}
	if _, err := abi.ParseFrame([]byte{1, 0x08}); !errors.Is(err, abi.ErrMalformed) {
		t.Errorf("an error frame that can't be read: %v does not wrap ErrMalformed", err)
	}
}

func TestErrorIsAlwaysReadable(t *testing.T) {
	t.Parallel()
	frame := abi.AppendError(nil, &abi.Error{Code: abi.CodeInvalid, Message: "cut \xe2\x82", Details: map[string]string{"\xff": "\xff\xfe!"}})
	_, err := abi.ParseFrame(frame)
	var e *abi.Error
	if !errors.As(err, &e) || e.Message != "cut \uFFFD" || e.Details["\uFFFD"] != "\uFFFD!" {
		t.Errorf("an error whose text is not UTF-8 arrives as %#v, %v", e, err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := abi.OpSQLExec.String() + " " + abi.Op(0xabc).String(); got != "sql.exec 0xabc" {
		t.Error(got)
	}
	if got := abi.CodeUnknownOutcome.String() + " " + abi.Code(99).String(); got != "unknown_outcome internal" {
		t.Error(got)
	}
	if got := abi.KindJSON.String() + " " + abi.Kind(99).String(); got != "json unknown" {
		t.Error(got)
	}
	if got := (&abi.Error{Code: abi.CodeDenied, Message: "no"}).Error(); got != "denied: no" {
		t.Error(got)
	}
}
