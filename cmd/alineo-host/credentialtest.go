package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// testTimeout bounds the request of a test.
const testTimeout = 40 * time.Second

// testAnswer is what a test has to tell.
type testAnswer struct {
	URL      string `json:"url"`
	Injected string `json:"injected"` // with the value left out
	Status   int    `json:"status"`
	Echoed   bool   `json:"echoed"` // the answer had the value, which was taken out of it
}

// requestScript asks for an address with whatever the sandbox has, and prints the status on a line of its
// own and then the answer.
func requestScript(address string) string {
	return `u=` + quote(address) + `
if command -v curl >/dev/null 2>&1; then
  curl -sS -i --max-time 30 "$u"
elif command -v python3 >/dev/null 2>&1; then
  python3 - "$u" <<'END'
import sys, urllib.error, urllib.request
try:
    r = urllib.request.urlopen(sys.argv[1], timeout=30)
except urllib.error.HTTPError as e:
    r = e
print("HTTP/1.1", r.status)
print(r.headers)
print(r.read(65536).decode(errors="replace"))
END
elif command -v wget >/dev/null 2>&1; then
  wget -S -T 30 -O - "$u" 2>&1
else
  echo "the sandbox has none of curl, python3 and wget to make a request with" >&2
  exit 127
fi`
}

// answerOf reads what the script printed.
func answerOf(text string) testAnswer {
	var answer testAnswer
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 1 && strings.HasPrefix(words[0], "HTTP/") {
			if status, err := strconv.Atoi(words[1]); err == nil {
				answer.Status = status // of several, as after 100 Continue, the last
			}
		}
	}
	answer.Echoed = strings.Contains(text, credential.Redacted) || strings.Contains(text, "[REDACTED]") || strings.Contains(text, "***")
	return answer
}
