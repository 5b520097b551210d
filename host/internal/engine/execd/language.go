//go:build unix

package execd

import (
	_ "embed"
	"fmt"
)

//go:embed drivers/python.py
var pythonDriver string

//go:embed drivers/node.js
var nodeDriver string

// The languages that the wire names and that need a word of their own.
const (
	bashLanguage       = "bash"
	commandLanguage    = "command"
	backgroundLanguage = "background-command"
	typescriptLanguage = "typescript"
)

// interpreter says how a language is run.
type interpreter struct {
	programs []string // the first that is there is taken
	args     []string
}

// interpreterOf finds a language's interpreter in the sandbox's root file
// system, or says what is missing.
func (s *Server) interpreterOf(language string) (path string, args []string, err error) {
	var in interpreter
	switch language {
	case bashLanguage:
		in = interpreter{programs: []string{"bash"}}
	case "python":
		in = interpreter{[]string{"python3", "python"}, []string{"-c", pythonDriver}}
	case "javascript", typescriptLanguage:
		in = interpreter{[]string{"node", "nodejs"}, []string{"-e", nodeDriver}}
	case "java", "go", "sql":
		return "", nil, fmt.Errorf("%s is not possible here: this engine runs python, javascript, typescript and bash", language)
	default:
		return "", nil, fmt.Errorf("unknown language: %s", language)
	}
	if path = s.program(in.programs...); path == "" {
		return "", nil, s.missing(language, in.programs...)
	}
	return path, in.args, nil
}
