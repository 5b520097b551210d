package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

// each calls f for every command that does something, the root too.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	if cmd.Runnable() {
		f(cmd)
	}
	for _, sub := range cmd.Commands() {
		each(sub, f)
	}
}

// Every command says what it does and shows how, and what it shows is a command line that it takes.
func TestExamples(t *testing.T) {
	t.Parallel()
	lines := 0
	each(newRoot(), func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s does not say what it does", cmd.CommandPath())
		}
		own := false
		for line := range strings.Lines(cmd.Example) {
			for _, args := range ourCalls(line) {
				lines++
				shown, err := takes(args)
				if err != nil {
					t.Errorf("%s shows %q: %v", cmd.CommandPath(), strings.TrimSpace(line), err)
				}
				own = own || shown == cmd.CommandPath() || strings.HasPrefix(shown, cmd.CommandPath()+" ")
			}
		}
		if !own {
			t.Errorf("%s shows no example of itself", cmd.CommandPath())
		}
	})
	const least = 100
	if lines < least {
		t.Errorf("only %d command lines were looked at", lines)
	}
}

// Every exit code is explained.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	text := newExitCodes().Long
	for _, code := range []int{0, exitFailed, exitUsage, exitNotLoaded, exitHost, exitTimeout, exitInterrupted, exitSignal, exitPipe, exitTerminated} {
		if !strings.Contains(text, fmt.Sprintf("\n  %-7d", code)) {
			t.Errorf("%d is not explained", code)
		}
	}
}

// takes tells which command gets a command line, and whether it takes it.
func takes(args []string) (path string, err error) {
	root := newRoot()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return "", err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return "", err
	}
	return cmd.CommandPath(), cmd.ValidateArgs(cmd.Flags().Args())
}

// ourCalls finds the calls of alineo-host in a line of shell, those in $(…) too.
func ourCalls(line string) (calls [][]string) {
	var words []string
	end := func() {
		for len(words) > 0 && strings.Contains(words[0], "=") { // such as NAME=value in front
			words = words[1:]
		}
		if len(words) > 1 && words[0] == "alineo-host" {
			calls = append(calls, words[1:])
		}
		words = nil
	}
	for rest := strings.TrimSpace(line); rest != ""; {
		switch r := rest[0]; {
		case r == ' ' || r == '\n':
			rest = rest[1:]
			continue
		case r == '#':
			rest = ""
			continue
		case strings.IndexByte("|&;<>", r) >= 0:
			if strings.HasPrefix(rest, "<(") {
				inner, after := inParentheses(rest[2:])
				calls = append(calls, ourCalls(inner)...)
				words, rest = append(words, "FILE"), after
				continue
			}
			if r == '<' || r == '>' { // what follows is a file's name
				_, rest = shellWord(strings.TrimLeft(rest[1:], "> "), &calls)
				continue
			}
			end()
			rest = rest[1:]
			continue
		}
		var word string
		word, rest = shellWord(rest, &calls)
		words = append(words, word)
	}
	end()
	return calls
}

// shellWord takes a word off a line, without its quotes. What is called for a part of it is a call, too.
func shellWord(line string, calls *[][]string) (word, rest string) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		case quote != '\'' && strings.HasPrefix(line[i:], "$("):
			inner, after := inParentheses(line[i+2:])
			*calls = append(*calls, ourCalls(inner)...)
			b.WriteString("VALUE")
			i = len(line) - len(after) - 1
		case quote != '\'' && c == '$' && i+1 < len(line) && unicode.IsLetter(rune(line[i+1])):
			name := strings.IndexFunc(line[i+1:]+" ", func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
			b.WriteString("1") // a number is a name, too
			i += name
		case quote == 0 && (unicode.IsSpace(rune(c)) || strings.IndexByte("|&;<>", c) >= 0):
			return b.String(), line[i:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

func inParentheses(text string) (inner, after string) {
	inner, after, _ = strings.Cut(text, ")")
	return inner, after
}
