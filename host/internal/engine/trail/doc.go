// Package trail remembers what a sandbox tried to reach and didn't get, so that its owner can see it.
//
//	t := trail.New()
//	t.Add(trail.Entry{Kind: trail.Refused, Host: "evil.example", Port: 443, Reason: "no rule allows it"})
//	for _, e := range t.Entries() {
//		fmt.Println(e) // 2026-01-02T15:04:05Z refused evil.example:443: no rule allows it (3 times)
//	}
//
// It holds a bounded number of entries; the same again within the latest ones is counted, not repeated.
// What a process in the sandbox chooses (names, paths) is kept short and printable, and an entry has no
// room for headers and queries.
//
// imports: nothing of ours.
package trail
