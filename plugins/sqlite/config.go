package main

import "strings"

// keys returns the top-level keys of a JSON object. The host has made it, so it is well-formed; a
// JSON decoder would double the size of this guest.
func keys(object string) []string {
	var found []string
	depth, inText := 0, false
	start := -1
	for i := 0; i < len(object); i++ {
		switch c := object[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			if !inText && depth == 1 {
				start = i + 1
			}
			if inText && depth == 1 && strings.HasPrefix(strings.TrimLeft(object[i+1:], " \t\r\n"), ":") {
				found = append(found, object[start:i])
			}
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return found
}
