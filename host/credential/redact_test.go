package credential_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/credential"
)

const canary = `sk-LIVE/9f+3"q\ü&<7`

func knowing(values ...string) *credential.Redactor {
	r := credential.NewRedactor()
	for _, v := range values {
		r.Add(credential.NewSecret(v))
	}
	return r
}

// encodings are the ways in which a value may come out of a sandbox.
func encodings(value string) map[string]string {
	quoted, _ := json.Marshal(value)
	twice, _ := json.Marshal(string(quoted))
	all := map[string]string{
		"plain": value, "JSON": string(quoted), "JSON in JSON": string(twice), "Go": strconv.Quote(value),
		"ASCII": strconv.QuoteToASCII(value), "query": url.QueryEscape(value), "path": url.PathEscape(value),
		"hex": hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"lower percent": regexp.MustCompile("%..").ReplaceAllStringFunc(url.QueryEscape(value), strings.ToLower),
	}
	for name, alphabet := range map[string]*base64.Encoding{
		"std": base64.StdEncoding, "raw std": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding,
	} {
		for before := range 4 {
			for after := range 3 {
				all[fmt.Sprintf("base64 %s %d %d", name, before, after)] = alphabet.EncodeToString([]byte("user:"[:before] + value + "@@"[:after]))
			}
		}
	}
	return all
}

// leaked returns a long part of the encoding of a value that a text has. In base64 the characters at
// the value's edges belong to its neighbours, too.
func leaked(text, encoded string) bool {
	const edge = 4
	inner := encoded
	if len(inner) > 3*edge {
		inner = inner[edge : len(inner)-edge]
	}
	return strings.Contains(text, inner)
}

func TestRedactEncodings(t *testing.T) {
	t.Parallel()
	for _, value := range []string{canary, "ghp_0123456789abcdefABCDEF", "p4ssw0rd", "päßwörd-ünd-mehr"} {
		r := knowing(value)
		for name, encoded := range encodings(value) {
			for _, text := range []string{encoded, "before " + encoded + " after", encoded + encoded} {
				if clean := r.Text(text); leaked(clean, encoded) || !strings.Contains(clean, credential.Redacted) {
					t.Errorf("%s: %q became %q", name, text, clean)
				}
			}
		}
		if clean := r.Text("before " + value + " after"); clean != "before [redacted] after" {
			t.Errorf("%q", clean)
		}
	}
}

func TestRedactNothing(t *testing.T) {
	t.Parallel()
	text := []byte("nothing to see here, and \xff\xfe no text either\r\n")
	for _, r := range []*credential.Redactor{nil, credential.NewRedactor(), knowing(canary), knowing("abc", "")} {
		if got := r.Bytes(text); &got[0] != &text[0] || len(got) != len(text) {
			t.Errorf("the text was touched")
		}
		payload := []byte(`{"seq":1,"text":"\u001b[1mabc\n"}`)
		if got := r.JSON(payload, true); &got[0] != &payload[0] {
			t.Errorf("the payload was touched: %s", got)
		}
	}
}

func TestRedactOverlapping(t *testing.T) {
	t.Parallel()
	r := knowing("abcdXYZ1", "XYZ1efgh", "abcdXYZ1-longer")
	for text, want := range map[string]string{
		"-abcdXYZ1efgh-":         "-[redacted]-",
		"-abcdXYZ1-longer-":      "-[redacted]-",
		"-abcdXYZ1-longe-":       "-[redacted]-longe-",
		"abcdXYZ1abcdXYZ1":       "[redacted][redacted]",
		"ab\r\ncdX\nYZ1":         "[redacted]",
		"\nabcdXYZ1\nabcdXYZ1\n": "\n[redacted]\n[redacted]\n",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestRedactForget(t *testing.T) {
	t.Parallel()
	r := credential.NewRedactor()
	one, two := r.Add(credential.NewSecret("value-1")), r.Add(credential.NewSecret("value-1"), credential.NewSecret("value-2"))
	one()
	one()
	if got := r.Text("value-1 value-2"); got != "[redacted] [redacted]" {
		t.Errorf("%q", got)
	}
	two()
	if got := r.Text("value-1 value-2"); got != "value-1 value-2" || r.Active() {
		t.Errorf("%q", got)
	}
}

func TestRedactBasic(t *testing.T) {
	t.Parallel()
	r := credential.NewRedactor()
	r.AddBasic(credential.BasicSecret("user", "hunter2-hunter2"))
	if got := r.Text("the password is hunter2-hunter2"); got != "the password is [redacted]" {
		t.Errorf("%q", got)
	}
}

func TestRedactJSON(t *testing.T) {
	t.Parallel()
	r := knowing("secret", "12345678", "line one\nline two")
	for _, c := range []struct {
		payload, want string
		own           bool
	}{
		{`{"seq":1,"type":"stdout","text":"a secret","timestamp":1}`, `{"seq":1,"type":"stdout","text":"a [redacted]","timestamp":1}`, true},
		{`{"text":"\u0073ecret\u001b"}`, `{"text":"[redacted]\u001b"}`, true},
		{`{"a":["secret",{"secret":"<secret>"}]}`, `{"a":["[redacted]",{"[redacted]":"<[redacted]>"}]}`, false},
		{`{"n":12345678,"m":[12345678]}`, `{"n":"[redacted]","m":["[redacted]"]}`, false},
		{`{"n":12345678,"m":[12345678]}`, `{"n":12345678,"m":["[redacted]"]}`, true},
		{`{"text":"line one\nline two"}`, `{"text":"[redacted]"}`, true},
		{` { "a" : "secret" , "b" : [ ] , "c" : { } , "d" : null } `, ` { "a" : "[redacted]" , "b" : [ ] , "c" : { } , "d" : null } `, false},
		{`"secret"`, `"[redacted]"`, false},
		{`{"seq":1`, `{"seq":1`, true},
		{`{"secret"`, `{"[redacted]"`, true},
	} {
		if got := string(r.JSON([]byte(c.payload), c.own)); got != c.want {
			t.Errorf("%s became\n%s, want\n%s", c.payload, got, c.want)
		}
	}
	own := knowing("text", "stdout", "sandboxId")
	for _, payload := range []string{`{"seq":1,"type":"stdout","text":"x"}`, `{"sandboxId":"x"}`, `{"snapshotId":"a-text-b"}`} {
		if got := string(own.JSON([]byte(payload), true)); got != payload {
			t.Errorf("%s became %s", payload, got)
		}
	}
}

// pieces cuts a text at random.
func pieces(rng *rand.Rand, text string) []string {
	var all []string
	for len(text) > 0 {
		n := 1 + rng.IntN(min(len(text), 9))
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

// TestFlow: however a text is cut, no value comes through but its first three bytes, and what is no
// value comes through whole.
func TestFlow(t *testing.T) {
	t.Parallel()
	values := []string{"abcdefgh", "efghijkl", "abcdefgh-and-more", "aaaaaaaab", canary}
	r := knowing(values...)
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		for range 1 + rng.IntN(8) {
			switch rng.IntN(3) {
			case 0:
				text.WriteString(values[rng.IntN(len(values))])
			case 1:
				v := values[rng.IntN(len(values))]
				text.WriteString(v[:rng.IntN(len(v))])
			default:
				text.WriteString([]string{"x", "\n", "ab", "--", "aaaa"}[rng.IntN(5)])
			}
		}
		var out strings.Builder
		f := credential.NewFlow[int](r)
		next := 0
		take := func(i int, text []byte, _ bool) {
			if i != next {
				t.Fatalf("piece %d came at %d", i, next)
			}
			next++
			out.Write(text)
		}
		all := pieces(rng, text.String())
		for i := 0; i < len(all); i++ {
			f.Push(i, []byte(all[i]), take)
			if seed%2 == 0 || rng.IntN(3) > 0 {
				continue
			}
			// Somebody else goes on, who gets again what was held back.
			if first, ok := f.Drop(); ok {
				i = first - 1
			}
			f = credential.NewFlow[int](r)
			f.Precede([]byte(strings.Join(all[:i+1], "")))
		}
		f.Flush(take)
		if next != len(all) {
			t.Fatalf("%d of %d pieces came out", next, len(all))
		}
		flat := strings.ReplaceAll(out.String(), "\n", "")
		for _, v := range values {
			if strings.Contains(flat, v) {
				t.Fatalf("seed %d: %q came out of %q as %q", seed, v, all, out.String())
			}
		}
		// The same in one piece differs only in what was out before it could be told.
		whole := strings.ReplaceAll(r.Text(text.String()), "\n", "")
		short := strings.ReplaceAll(flat, credential.Redacted, "")
		if at := 0; true {
			for part := range strings.SplitSeq(whole, credential.Redacted) {
				i := strings.Index(short[at:], part)
				if i < 0 {
					t.Fatalf("seed %d: %q came out of %q as %q: %q is missing", seed, whole, all, out.String(), part)
				}
				at += i + len(part)
			}
		}
	}
}

func TestFlowHoldsBack(t *testing.T) {
	t.Parallel()
	f := credential.NewFlow[string](knowing("abcdefgh"))
	var out []string
	take := func(item string, text []byte, changed bool) {
		out = append(out, fmt.Sprint(item, ":", string(text), ":", changed))
	}
	for _, step := range []struct {
		text, now string
		held      bool
		out       string
	}{
		{"x abc", "x abc", false, "x abc:x abc:false"},
		{"de", "de", true, ""}, // with what came before it is the beginning of the value
		{"f", "f", true, ""},
		{"gh!", "!", false, "de:[redacted]:true f::true gh!:!:true"},
		{"abcd", "abcd", true, ""},
		{"\nnever mind", "\nnever mind", false, "abcd:abcd:false \nnever mind:\nnever mind:false"},
		{"abcdef", "abcdef", true, ""},
	} {
		out = nil
		now, held := f.Push(step.text, []byte(step.text), take)
		if string(now) != step.now || held != step.held || strings.Join(out, " ") != step.out {
			t.Errorf("%q: %q, %v, %q; want %+v", step.text, now, held, out, step)
		}
	}
	out = nil
	f.Flush(take)
	if strings.Join(out, " ") != "abcdef:abcdef:false" {
		t.Errorf("%q", out)
	}
}

// TestFlowPrecedes: what a value began with before the first piece is not forgotten while the piece is held
// back for another one.
func TestFlowPrecedes(t *testing.T) {
	t.Parallel()
	f := credential.NewFlow[int](knowing("abcdefgh"))
	f.Precede([]byte("x abcde"))
	var out string
	take := func(_ int, text []byte, _ bool) { out += string(text) }
	for i, piece := range []string{"fgh abcde", "fgh", "."} {
		f.Push(i, []byte(piece), take)
	}
	if out != "[redacted] [redacted]." {
		t.Errorf("%q", out)
	}
}

// TestFlowLeaves: text that comes in two flows, of which the second gets nothing twice, has no value, and no
// part of one that was longer than what is not looked at.
func TestFlowLeaves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []string
		flows  [][]string // of pieces
		begun  []int      // at the end of each
		out    string     // flows are separated
	}{
		{[]string{"abcdefgh"}, [][]string{{"x abcde"}, {"fgh y"}}, []int{5, 0}, "x [redacted]| y"},
		{[]string{"abcdefgh"}, [][]string{{"x ", "a", "b", "c", "d"}, {"e", "f", "g", "h", "!"}}, []int{4, 0}, "x abc[redacted]|!"},
		{[]string{"abcdefgh"}, [][]string{{"ab"}, {"cdefgh!"}}, []int{0, 0}, "ab|[redacted]!"},
		{[]string{"abcdefgh"}, [][]string{{"ab"}, {"c"}, {"defgh!"}}, []int{0, 0, 0}, "ab|c|[redacted]!"},
		{[]string{"abcdefgh"}, [][]string{{"abcd"}, {}, {"ef"}, {"g"}, {"h!"}}, []int{4, 4, 6, 7, 0}, "[redacted]||||!"},
		{[]string{"abcdefgh"}, [][]string{{"abc\nd"}, {"e\r", "fgh\r"}}, []int{4, 0}, "[redacted]|\r"},
		{[]string{"abcdefgh"}, [][]string{{"abcdef"}, {"ls\n"}, {"gh"}}, []int{6, 0, 0}, "[redacted]|ls\n|gh"},
		{[]string{"abcdefgh"}, [][]string{{"abcdef"}, {"g"}}, []int{6, 7}, "[redacted]|"},
		{[]string{"abcdefgh"}, [][]string{{"abcdefgh abcd"}, {"efgh"}}, []int{4, 0}, "[redacted] [redacted]|"},
		{[]string{"abcdefgh"}, [][]string{{"abcde"}, {"fghabcd"}, {"efgh."}}, []int{5, 4, 0}, "[redacted]|[redacted]|."},
		{[]string{"abcd", "abcdefgh"}, [][]string{{"abcd"}, {"efgh."}}, []int{4, 0}, "[redacted]|."},
		{[]string{"abcd", "abcdefgh"}, [][]string{{"abcd"}, {"ef."}}, []int{4, 0}, "[redacted]|ef."},
		{[]string{"abcdefgh", "abcdefgh-more"}, [][]string{{"abcde"}, {"fgh"}, {"-more."}}, []int{5, 8, 0}, "[redacted]||."},
		{[]string{"abcdefgh", "abcdefgh-more"}, [][]string{{"abcde"}, {"fgh", "."}}, []int{5, 0}, "[redacted]|."},
		{[]string{"abcdefgh", "ghijklmn"}, [][]string{{"abcde"}, {"fghij"}, {"klmn."}}, []int{5, 4, 0}, "[redacted]||."},
		{[]string{"ababababX"}, [][]string{{"abababab"}, {"abX."}}, []int{8, 0}, "[redacted]|."},
		{[]string{"abcdefgh", "fghij"}, [][]string{{"abcdefg"}, {"hij."}}, []int{7, 0}, "[redacted]|."},
		{[]string{"abcdefgh", "efghijkl"}, [][]string{{"abcdef"}, {"ghij"}, {"kl."}}, []int{6, 6, 0}, "[redacted]||."},
		{[]string{"abcdefgh"}, [][]string{{"nothing"}, {"else"}}, []int{0, 0}, "nothing|else"},
	} {
		r, out, before, begun := knowing(test.values...), []string(nil), "", 0
		for i, flow := range test.flows {
			f := credential.NewFlow[string](r)
			f.Precede([]byte(before))
			f.Rejoin(begun)
			var text strings.Builder
			take := func(_ string, piece []byte, _ bool) { text.Write(piece) }
			for _, piece := range flow {
				f.Push("", []byte(piece), take)
			}
			if begun = f.Leave(take); begun != test.begun[i] {
				t.Errorf("%q: %d bytes of a value after flow %d, want %d", test.flows, begun, i, test.begun[i])
			}
			f.Flush(func(string, []byte, bool) { t.Errorf("%q: something is left", test.flows) })
			out = append(out, text.String())
			before += text.String()
		}
		if got := strings.Join(out, "|"); got != test.out {
			t.Errorf("%q came as %q, want %q", test.flows, got, test.out)
		}
	}
	f := credential.NewFlow[string](knowing())
	f.Rejoin(5)
	var text string
	take := func(_ string, piece []byte, _ bool) { text += string(piece) }
	f.Push("", []byte("no value is known any more"), take)
	if text != "no value is known any more" {
		t.Errorf("%q", text)
	}
	// What no more text follows is no value.
	f = credential.NewFlow[string](knowing("abcdefgh"))
	f.Rejoin(5)
	text = ""
	f.Push("", []byte("fg"), take)
	f.Flush(take)
	if text != "fg" {
		t.Errorf("%q", text)
	}
}

// TestFlowLeavesAnywhere: nothing of a value that is long enough to be looked for is in what several flows
// hand on, wherever one ends and the next goes on.
func TestFlowLeavesAnywhere(t *testing.T) {
	t.Parallel()
	values := []string{"qwertzuiop", "ababababC", "uiop-and-more", canary}
	r := knowing(values...)
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var text strings.Builder
		for range 1 + rng.IntN(4) {
			text.WriteString("  "[:rng.IntN(2)])
			value := values[rng.IntN(len(values))]
			at := rng.IntN(len(value))
			text.WriteString(value[:at] + "\n\r"[:rng.IntN(3)] + value[at:])
		}
		var out strings.Builder
		take := func(_ int, text []byte, _ bool) { out.Write(text) }
		f := credential.NewFlow[int](r)
		all := pieces(rng, text.String())
		for i := 0; i < len(all); i++ {
			f.Push(i, []byte(all[i]), take)
			switch before := f; {
			case rng.IntN(3) > 0:
			case seed%2 == 0: // nothing comes again
				f = credential.NewFlow[int](r)
				begun := before.Leave(take)
				f.Precede([]byte(out.String()))
				f.Rejoin(begun)
			default: // what was held back does
				if first, ok := before.Drop(); ok {
					i = first - 1
				}
				f = credential.NewFlow[int](r)
				f.Precede([]byte(strings.Join(all[:i+1], "")))
			}
		}
		f.Flush(take)
		flat := strings.NewReplacer("\n", "", "\r", "").Replace(out.String())
		for _, value := range values {
			for i := range len(value) - 3 {
				if strings.Contains(flat, value[i:i+4]) {
					t.Fatalf("seed %d: %q of %q came out of %q as %q", seed, value[i:i+4], value, all, out.String())
				}
			}
		}
	}
}

func TestRedactError(t *testing.T) {
	t.Parallel()
	cause := errors.New("no route for secret-value")
	err := knowing("secret-value").Error(fmt.Errorf("asking: %w", cause))
	if err.Error() != "asking: no route for [redacted]" || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if r := knowing("other"); r.Error(cause) != cause || r.Error(nil) != nil { //nolint:errorlint // the very same
		t.Errorf("an error without values was touched")
	}
}

func TestRedactLogger(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		r := knowing(canary)
		log := r.Logger(hclog.New(&hclog.LoggerOptions{Output: &out, JSONFormat: asJSON, Level: hclog.Trace}))
		log = log.Named("sub").With("given", "it is "+canary)
		log.Info("message "+canary, "text", canary, "err", fmt.Errorf("failed: %s", canary), "list", []string{canary}, "n", 7)
		log.Debug("struct", "value", struct{ A string }{canary})
		log.StandardWriter(&hclog.StandardLoggerOptions{}).Write([]byte("standard " + canary + "\n")) //nolint:errcheck // a buffer
		log.StandardLogger(&hclog.StandardLoggerOptions{}).Print("printed " + canary)
		text := out.String()
		for name, encoded := range encodings(canary) {
			if leaked(text, encoded) {
				t.Errorf("%s of the value is in %s", name, text)
			}
		}
		if n := strings.Count(text, credential.Redacted); n < 8 || !strings.Contains(text, "7") {
			t.Errorf("%d times redacted in %s", n, text)
		}
	}
}

func FuzzRedactJSON(f *testing.F) {
	f.Add([]byte(`{"seq":1,"type":"stdout","text":"\u0073ecret \ud83d\ude00"}`), "secret")
	f.Add([]byte(`[1,{"a":12345678}]`), "12345678")
	f.Fuzz(func(t *testing.T, payload []byte, value string) {
		if len(value) < 4 || len(value) > 64 || strings.ContainsAny(value, "\r\n") || overlapsMark(value) {
			return
		}
		r := knowing(value)
		before := bytes.Clone(payload)
		clean := r.JSON(payload, false)
		if !bytes.Equal(before, payload) {
			t.Fatalf("the payload was changed in place")
		}
		if json.Valid(payload) && !json.Valid(clean) {
			t.Fatalf("%s became %s", payload, clean)
		}
		var decoded any
		if json.Unmarshal(clean, &decoded) == nil {
			holds(t, decoded, value)
		}
	})
}

// overlapsMark: a value that is a part of what stands for it is found there.
func overlapsMark(value string) bool {
	mark := credential.Redacted
	return strings.Contains(mark, value)
}

func holds(t *testing.T, v any, value string) {
	t.Helper()
	switch v := v.(type) {
	case string:
		// What Redacted and its neighbours make up was not there before.
		for part := range strings.SplitSeq(v, credential.Redacted) {
			if strings.Contains(part, value) {
				t.Fatalf("%q is left in %q", value, v)
			}
		}
	case []any:
		for _, e := range v {
			holds(t, e, value)
		}
	case map[string]any:
		for k, e := range v {
			holds(t, k, value)
			holds(t, e, value)
		}
	}
}

func FuzzFlow(f *testing.F) {
	f.Add("xabcdefghabcdy", "abcdefgh", uint64(1))
	f.Add("aaaaaaaaaab", "aaaab", uint64(2))
	f.Fuzz(func(t *testing.T, text, value string, seed uint64) {
		if len(value) < 4 || len(text) > 4096 || len(value) > 256 || strings.ContainsAny(value, "\r\n") {
			return
		}
		flow := credential.NewFlow[int](knowing(value))
		var out strings.Builder
		take := func(_ int, text []byte, _ bool) { out.Write(text) }
		for i, piece := range pieces(rand.New(rand.NewPCG(seed, 2)), text) {
			flow.Push(i, []byte(piece), take)
		}
		flow.Flush(take)
		for part := range strings.SplitSeq(out.String(), credential.Redacted) {
			if strings.Contains(part, value) {
				t.Fatalf("%q came out of %q as %q", value, text, out.String())
			}
		}
	})
}
