// Package house holds the tests that keep the house rules: who may import whom, what a package must
// bring along, what code must not do. It has no code of its own.
//
// A rule that gets in the way for a reason takes an exception here, in the rule's own list, with the
// reason beside it.
//
// imports: nothing of ours.
package house
