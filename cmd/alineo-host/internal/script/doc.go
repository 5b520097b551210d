// Package script reads the small step files of `run --script` and `resume --script`.
//
// A script is a text file of steps, one a line; blank lines and lines that start with # are
// skipped:
//
//	exec sort /workspace/words.txt | uniq -c
//	checkpoint counted
//	write /workspace/note.txt <<END
//	some text
//	END
//	write /workspace/data.csv < data.csv
//	read /workspace/note.txt
//
// exec runs the rest of the line in the sandbox's shell; checkpoint saves the sandbox's files under
// a name; write puts text or a local file (relative to the script) into the sandbox; read prints a
// file of the sandbox. A step whose text is <<WORD takes the lines up to one that is WORD as
// its text, so that `exec <<WORD` runs a program of several lines.
//
// imports: host/store.
package script
