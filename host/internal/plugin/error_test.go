package plugin

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/abi"
)

// What a guest says of itself ends up on terminals and in logs.
func TestGuestErrorsAreTidied(t *testing.T) {
	t.Parallel()
	e := &abi.Error{Message: "red \x1b[31m\nalert", Details: map[string]string{"bell\a": "\x00"}}
	tidy(e)
	if e.Message != "red  [31m alert" || e.Details["bell "] != " " {
		t.Errorf("%q", e)
	}
	e = &abi.Error{Message: strings.Repeat("ä", maxMessage), Details: map[string]string{}}
	for i := range 100 {
		e.Details[fmt.Sprintf("key %03d", i)] = strings.Repeat("x", 2*maxMessage)
	}
	tidy(e)
	if len(e.Message) > maxMessage+4 || !utf8.ValidString(e.Message) || !strings.HasSuffix(e.Message, "…") {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
	if len(e.Details) != maxDetails || len(e.Details["key 000"]) > maxMessage+4 {
		t.Errorf("%d details", len(e.Details))
	}
}

func TestLinesOfGuests(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "ends\r\n": "ends", "two\nlines\tand": "two lines and", "bell\a": "bell\uFFFD",
		"not \xff text": "not \uFFFD text", "": "",
		strings.Repeat("x", maxLine+1):               strings.Repeat("x", maxLine) + " …",
		strings.Repeat("x", maxLine-1) + "ä" + "end": strings.Repeat("x", maxLine-1) + " …",
	} {
		if got := oneLine([]byte(in)); got != want {
			t.Errorf("%.20q (%d bytes) became %.20q (%d bytes)", in, len(in), got, len(got))
		}
	}
}
