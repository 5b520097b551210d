package execd

import (
	"bytes"
	"testing"
)

// FuzzRing compares a ring with all that was ever written.
func FuzzRing(f *testing.F) {
	f.Add([]byte("\x05\x01\x90\x02\xff\x01\xff\x02"), 4)
	f.Fuzz(func(t *testing.T, writes []byte, scale int) {
		if len(writes) > 200 || scale < 1 || scale > 4096 {
			t.Skip()
		}
		var r ring
		var all, kinds []byte
		for i := 0; i+1 < len(writes); i += 2 {
			p := bytes.Repeat([]byte{byte(i)}, int(writes[i])*scale%ringSize)
			kind := writes[i+1] % 3
			r.write(p, kind)
			all = append(all, p...)
			kinds = append(kinds, bytes.Repeat([]byte{kind}, len(p))...)
		}
		if r.end != int64(len(all)) || r.end-r.start > ringSize || r.start > 0 && r.end-r.start != ringSize {
			t.Fatalf("from %d to %d of %d", r.start, r.end, len(all))
		}
		if got := r.after(nil, 0); !bytes.Equal(got, all[r.start:]) {
			t.Errorf("it remembers something else")
		}
		for at := r.start; at < r.end; {
			got, kind := r.next(nil, at, 1000)
			n := len(got)
			if n == 0 || n > 1000 || !bytes.Equal(got, all[at:at+int64(n)]) {
				t.Fatalf("%d bytes at %d", n, at)
			}
			for _, k := range kinds[at : at+int64(n)] {
				if k != kind {
					t.Fatalf("a byte of kind %d among %d", k, kind)
				}
			}
			at += int64(n)
		}
	})
}
