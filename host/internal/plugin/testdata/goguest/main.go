// Command goguest is a guest of the standard toolchain that looks at the world it is in. Its
// configuration says what its health is: {"mode": "world"}.
package main

import (
	"crypto/rand"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

var mode string

func main() {}

func init() {
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{Name: "goguest", Version: "1.0.0"},
		Configure: func(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
			mode = strings.Clone(strings.Split(req.Config, `"`)[3])
			return nil, nil
		},
		Health: health,
	})
}

func health() (string, error) {
	switch mode {
	case "world":
		return world()
	case "trace":
		return alineo.CurrentCall().Traceparent, nil
	case "exit":
		os.Exit(3)
	case "eat":
		var kept [][]byte
		for {
			kept = append(kept, make([]byte, 1<<20))
			kept[len(kept)-1][0] = 1
		}
	case "deadlock":
		<-make(chan int)
	case "sleep":
		time.Sleep(time.Hour)
	case "recurse":
		return string(recurse(nil)), nil
	}
	return "fine", nil
}

func recurse(b []byte) []byte { return append(recurse(append(b, 1)), 2) }

func world() (string, error) {
	_, err := os.ReadFile("/etc/passwd")
	if err == nil {
		return "", errors.New("there are files")
	}
	if _, err := os.ReadDir("/"); err == nil {
		return "", errors.New("there is a root directory")
	}
	began := time.Now()
	time.Sleep(20 * time.Millisecond)
	slept := time.Since(began)
	if slept < 20*time.Millisecond || slept > 10*time.Second {
		return "", errors.New("slept " + slept.String())
	}
	if year := began.UTC().Year(); year < 2025 {
		return "", errors.New("it is the year " + strconv.Itoa(year))
	}
	var a, b [16]byte
	rand.Read(a[:])
	rand.Read(b[:])
	if a == b {
		return "", errors.New("random numbers repeat")
	}
	os.Stdout.WriteString("to standard output\nin two lines\n")
	os.Stderr.WriteString("to standard error, without an end")
	done := make(chan string)
	go func() {
		time.Sleep(time.Millisecond)
		done <- "goroutines work"
	}()
	return <-done + "; " + strconv.Itoa(len(os.Args)) + " arguments, " + strconv.Itoa(len(os.Environ())) + " variables", nil
}
