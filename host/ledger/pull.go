package ledger

import "iter"

// pull is iter.Pull2 for a sequence that ends with its first error.
func pull[T any](seq iter.Seq2[T, error]) (next func() (T, bool, error), stop func()) {
	pulled, stop := iter.Pull2(seq)
	return func() (T, bool, error) {
		v, err, ok := pulled()
		if !ok || err != nil {
			var none T
			return none, false, err
		}
		return v, true, nil
	}, stop
}
