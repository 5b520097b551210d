package meter

const (
	freeShift     = 8              // log2 of the bytes of code that one unit of fuel pays for
	freeBytes     = 1 << freeShift // and so what may go uncharged
	shiftBytes    = 4              // log2 of the bytes of a bulk operation that one unit pays for
	shiftElements = 1              // likewise of elements of a table
	shiftPages    = 16 - shiftBytes
)

// price is what n bytes of code cost on each pass.
func price(n int) int32 { return int32(1 + n>>freeShift) }

// appendCharge appends the instructions that take a price off the fuel. The stack is as before.
// The fuel is never below zero but between the subtraction and the refill, so that no price, all of
// which are below 1<<31, can make it wrap around.
func (w *rewriter) appendCharge(dst []byte, price int32) []byte {
	dst = appendU32(append(dst, opGlobalGet), w.fuel())
	dst = appendSigned(append(dst, opI32Const), int64(price))
	return w.appendTake(dst)
}

// appendLoopCharge is appendCharge with a price that is not known yet: putPrice writes it at the
// returned offset.
func (w *rewriter) appendLoopCharge(dst []byte) (out []byte, at int) {
	dst = appendU32(append(dst, opGlobalGet), w.fuel())
	dst = append(dst, opI32Const)
	at = len(dst)
	return w.appendTake(append(dst, 0x80, 0x80, 0x00)), at
}

// putPrice writes a price, which is below 1<<20, as a number of three bytes.
func putPrice(dst []byte, price int32) {
	dst[0] = byte(price) | 0x80
	dst[1] = byte(price>>7) | 0x80
	dst[2] = byte(price >> 14)
}

// appendTake subtracts the price on the stack from the fuel below it, and ticks at the end of it.
func (w *rewriter) appendTake(dst []byte) []byte {
	fuel := w.fuel()
	dst = appendU32(append(dst, opI32Sub, opGlobalSet), fuel)
	dst = appendU32(append(dst, opGlobalGet), fuel)
	dst = append(dst, opI32Const, 0, opI32LtS, opIf, typeEmpty)
	dst = appendU32(append(dst, opGlobalGet), fuel)
	dst = appendU32(append(dst, opCall), w.tick())
	dst = appendSigned(append(dst, opI32Const), int64(w.opts.Interval))
	dst = appendU32(append(dst, opGlobalSet), fuel)
	return append(dst, opEnd)
}

// appendLengthCharge charges for the length on top of the stack, and leaves it there.
func (f *body) appendLengthCharge(dst []byte, shift byte) []byte {
	f.scratch = true
	f.stats.Bulk++
	dst = appendU32(append(dst, opLocalTee), f.locals)
	dst = appendU32(append(dst, opGlobalGet), f.fuel())
	dst = appendU32(append(dst, opLocalGet), f.locals)
	dst = append(dst, opI32Const, shift, opI32ShrU)
	return f.appendTake(dst)
}

// appendGrowCharge charges memory.grow for the number of new pages, which it leaves on the stack. More
// than 65,535 fail without work.
func (f *body) appendGrowCharge(dst []byte) []byte {
	f.scratch = true
	f.stats.Bulk++
	dst = appendU32(append(dst, opLocalTee), f.locals)
	dst = appendU32(append(dst, opGlobalGet), f.fuel())
	dst = appendU32(append(dst, opLocalGet), f.locals)
	dst = appendSigned(append(dst, opI32Const), 0xffff)
	dst = append(dst, opI32And, opI32Const, shiftPages, opI32Shl)
	return f.appendTake(dst)
}

// appendGrowReport appends what follows memory.grow: its answer stays on the stack, and when that is
// a refusal, tick is told.
func (f *body) appendGrowReport(dst []byte) []byte {
	dst = appendU32(append(dst, opLocalTee), f.locals)
	dst = append(appendSigned(append(dst, opI32Const), -1), opI32Eq, opIf, typeEmpty)
	dst = appendSigned(append(dst, opI32Const), GrowRefused)
	dst = appendU32(append(dst, opCall), f.tick())
	return appendU32(append(dst, opEnd, opLocalGet), f.locals)
}
