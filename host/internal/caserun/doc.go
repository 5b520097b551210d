// Package caserun runs one case of a shared suite where there is no go test, as `plugin test` does:
//
//	ending := caserun.Run(ctx, caserun.Options{Name: "append/atomic", Dir: dir, Deadline: time.Minute}, func(t *caserun.T) {
//		t.Errorf("it was not")
//	})
//	if ending.Failed { … ending.Messages … }
//
// A T is what the suites ask of testing.T. A case runs on a goroutine of its own, so that FailNow can end it;
// a panic fails it; one that does not end with its context is left behind, with the stacks of what runs.
//
// imports: nothing of ours.
package caserun
