// Package meter rewrites a WebAssembly module so that it can always be stopped.
//
// A guest that spins holds its thread: the deadline of its call passes unseen, and the next garbage
// collection of the host waits for it for ever. [Rewrite] puts a countdown into the module. Every
// function entry and every loop header takes a few units of fuel off a private global; where it
// falls below zero, the guest calls the imported function alineo_rt.tick, a trip into Go, where the
// host looks at the clock (and the collector may stop the world), and the fuel is filled up again.
//
//	metered, stats, err := meter.Rewrite(wasm, meter.Options{MaxMemoryPages: 1024})
//	// Offer alineo_rt.tick (i32 fuel) -> (); panic in it to end the call.
//
// # What is charged
//
//   - A function entry: 1, and 1 for each 256 bytes of its body. A loop header: 1, and 1 for each
//     256 bytes of the loop, on each round. Code runs straight on between these points, so that all
//     work is bounded by what was charged.
//   - memory.fill, copy, init and table.fill, copy, init, by length, before they run: 1 for each
//     16 bytes or 2 elements. memory.grow by the bytes of the new pages, table.grow by the elements.
//
// A function whose body begins with a loop that spans it is charged there only. A memory.grow that is
// refused is told to tick too, so that a trap that follows can be explained.
//
// # What is refused
//
// The input is not trusted, and only the rewritten module is validated by the engine. So Rewrite
// never copies what it has not understood: everything is decoded, checked against the index spaces
// of the original module (an index past their end would name the fuel or tick), and encoded anew in
// its one canonical form, so that the engine reads the same instructions that were metered. Opcodes,
// types, section ids and flags outside WebAssembly 2.0 as the engine has it are refused with their
// name and offset. Vector lengths are checked before anyone allocates by them.
//
// Memory and tables get a maximum, whatever they declare; imported memories, tables and globals,
// several memories and shared ones are refused.
//
// Custom sections are dropped, except that the names of functions are kept, for stack traces.
//
// imports: nothing of ours.
package meter
