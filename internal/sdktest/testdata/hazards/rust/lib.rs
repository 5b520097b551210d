//! Mistakes that a plugin in Rust can make: the name of a sandbox says which.

use alineo::*;
use std::mem::ManuallyDrop;

#[derive(Default)]
struct Hazard {
    calls: u64,
}

impl Plugin for Hazard {
    fn manifest(&self) -> Manifest {
        Manifest { name: "hazard".into(), version: "1.0.0".into(), kinds: vec!["ledger".into()], ..Manifest::default() }
    }

    fn ledger_open(&mut self, request: LedgerOpenRequest) -> Result<Head, Error> {
        let none: Option<u64> = None;
        let list = vec![1, 2, 3];
        match request.key.name.as_str() {
            "panic" => panic!("a mistake"),
            "unwrap" => self.calls = hidden(none).unwrap(),
            "index" => self.calls = list[hidden(list.len())],
            "abort" => std::process::abort(),
            "stack" => self.calls = deep(&[1; 128]),
            "memory" => self.calls = hoard(),
            "loop" => loop {
                self.calls = hidden(self.calls + 1);
            },
            _ => {}
        }
        self.calls += 1;
        Ok(Head { epoch: self.calls, last_step: -1, ..Head::default() })
    }
}

/// A value that the compiler knows nothing of.
fn hidden<T>(value: T) -> T {
    let value = ManuallyDrop::new(value);
    // SAFETY: it is read once.
    unsafe { std::ptr::read_volatile(&*value) }
}

/// It may end, as far as the compiler knows, and needs its frame after the call: newer ones make a loop
/// of what does neither.
fn deep(above: &[u64; 128]) -> u64 {
    let frame = hidden([above[64] + 1; 128]);
    if hidden(frame[0]) == 0 {
        return 0;
    }
    let below = deep(&frame);
    below + hidden(frame)[1]
}

fn hoard() -> u64 {
    let mut all = Vec::new();
    loop {
        all.push(hidden(vec![1u8; 1 << 16]));
    }
}

alineo::plugin!(Hazard, Hazard::default);
