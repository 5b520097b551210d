// Command goguest is a guest of the standard toolchain for the meter's tests: work of several kinds,
// each of which answers with a number that must not change when the module is metered.
package main

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

func main() {}

//go:wasmexport sort
func sortNumbers(n int32) int64 {
	v := make([]uint64, n&0xfff)
	x := uint64(n) + 1
	for i := range v {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		v[i] = x
	}
	slices.Sort(v)
	h := fnv.New64a()
	for _, e := range v {
		h.Write(binary.LittleEndian.AppendUint64(nil, e))
	}
	return int64(h.Sum64())
}

//go:wasmexport words
func words(n int32) int64 {
	counts := map[string]int{}
	var b strings.Builder
	for i := range int(n & 0x3ff) {
		b.WriteString("w" + strconv.Itoa(i*i%97) + " ")
	}
	for w := range strings.FieldsSeq(b.String()) {
		counts[w]++
	}
	sum := int64(len(counts))
	for w, c := range counts {
		sum += int64(len(w) * c * c)
	}
	return sum
}

//go:wasmexport goroutines
func goroutines(n int32) int64 {
	in, out := make(chan int64), make(chan int64)
	for range 4 {
		go func() {
			sum := int64(0)
			for v := range in {
				sum += v * v
			}
			out <- sum
		}()
	}
	for i := range int64(n & 0xff) {
		in <- i
	}
	close(in)
	return <-out + <-out + <-out + <-out
}

//go:wasmexport recovered
func recovered(n int32) (r int64) {
	defer func() {
		if recover() != nil {
			r = 7
		}
	}()
	return []int64{1, 2, 3}[n&7]
}

//go:wasmexport spin
func spin(n int32) int64 {
	x := uint64(n)
	for range int64(n) {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return int64(x)
}
