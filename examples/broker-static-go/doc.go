// Command broker-static-go is a credential broker in forty lines, whose values are files that the operator
// grants. Its README says how to build, try and use it.
//
// imports: abi, sdk/go/alineo, sdk/go/egressvault.
package main
