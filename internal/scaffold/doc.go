// Package scaffold makes the folder that a plugin's author begins with: an example of this repository
// under the author's name, the SDK of its language, a Makefile and a README.
//
//	files, err := scaffold.Make("./my-ledger", scaffold.Plugin{Name: "my-ledger", Kind: "ledger", Lang: "rust"})
//
// The folder needs nothing of this repository: the binary brings everything along, see package
// alineohost. The examples are the ones that our own tests build and try, so a template is never another
// one than what is known to work.
//
// imports: . (the module's root).
package scaffold
