// Command wrongbroker is a right credential broker with one fault, which its configuration names: {"fault":
// "set/live"} breaks the rule of that case of the shared suite. Tests show with it that each case notices.
//
// imports: abi, sdk/go/alineo, sdk/go/egressvault.
package main
