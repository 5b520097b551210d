//! What is kept.

use alineo::{Environment, Error, SandboxKey, Value};
use std::collections::BTreeMap;

/// A sandbox's key, in the order of lists: name, then sandbox id.
pub type Key = (String, String);

pub fn key(k: SandboxKey) -> Key {
    (k.name, k.sandbox_id)
}

#[derive(Default)]
pub struct Store {
    /// By id: in the order of writing.
    pub entries: BTreeMap<i64, Entry>,
    pub sandboxes: BTreeMap<Key, Sandbox>,
    pub tombstones: BTreeMap<Key, Tombstone>,
    pub environments: BTreeMap<String, Environment>,
    pub last_id: i64,
    pub last_epoch: u64,
}

pub struct Entry {
    pub key: Key,
    pub step: i64,
    pub branch: Value,
    pub event: String,
    pub payload: Value,
    pub error: Value,
    pub ts: i64,
}

impl Entry {
    pub fn payload_bytes(&self) -> &[u8] {
        self.payload.as_bytes().unwrap_or_default()
    }

    /// How much room it takes in a page, about.
    pub fn size(&self) -> usize {
        let texts = self.key.0.len() + self.key.1.len() + self.event.len();
        100 + texts + self.payload_bytes().len() + self.error.as_bytes().unwrap_or_default().len()
    }
}

/// What is known of one sandbox that was claimed.
#[derive(Default)]
pub struct Sandbox {
    pub epoch: u64,
    pub segments: Vec<Segment>,
    /// By (ts, id): in the order of reading.
    pub order: BTreeMap<(i64, i64), ()>,
    pub max_ts: i64,
}

impl Sandbox {
    pub fn hash(&self) -> &[u8] {
        self.segments.last().map_or(&[], |s| &s.hash)
    }

    /// How many entries the segments hold.
    pub fn counted(&self) -> u64 {
        self.segments.iter().map(|s| (s.leaves.len() / 32) as u64).sum()
    }
}

pub struct Segment {
    pub first: i64,
    pub last: i64,
    pub id: Vec<u8>,
    pub previous: Vec<u8>,
    pub hash: Vec<u8>,
    pub leaves: Vec<u8>,
}

pub struct Tombstone {
    pub entries: u64,
    pub hash: Vec<u8>,
    pub deleted: i64,
}

impl Store {
    /// A sandbox's entries with their ids, in the order of reading.
    pub fn entries_of<'a>(&'a self, key: &Key) -> impl DoubleEndedIterator<Item = (i64, &'a Entry)> + 'a {
        let order = self.sandboxes.get(key).map(|s| s.order.keys());
        order.into_iter().flatten().filter_map(move |(_, id)| self.entries.get(id).map(|entry| (*id, entry)))
    }
}

/// A cursor of two numbers.
pub fn cursor(a: i64, b: i64) -> Vec<u8> {
    [a.to_be_bytes(), b.to_be_bytes()].concat()
}

/// Reads such a cursor; none is None.
pub fn read_cursor(bytes: &[u8]) -> Result<Option<(i64, i64)>, Error> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let whole: [u8; 16] = bytes.try_into().map_err(|_| Error::invalid("this is no cursor of this ledger"))?;
    let half = |at: usize| {
        let mut raw = [0; 8];
        raw.copy_from_slice(&whole[at..at + 8]);
        i64::from_be_bytes(raw)
    };
    Ok(Some((half(0), half(8))))
}

/// A cursor of a number and a text.
pub fn cursor_of(number: i64, text: &str) -> Vec<u8> {
    [&number.to_be_bytes()[..], text.as_bytes()].concat()
}

pub fn read_cursor_of(bytes: &[u8]) -> Result<Option<(i64, String)>, Error> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let read = || {
        let number = i64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
        Some((number, std::str::from_utf8(&bytes[8..]).ok()?.to_string()))
    };
    read().map(Some).ok_or_else(|| Error::invalid("this is no cursor of this store"))
}

/// A cursor that is a key.
pub fn key_cursor(key: &Key) -> Vec<u8> {
    let mut bytes = (key.0.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(key.0.as_bytes());
    bytes.extend_from_slice(key.1.as_bytes());
    bytes
}

pub fn read_key_cursor(bytes: &[u8]) -> Result<Option<Key>, Error> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let read = || {
        let length = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let name = std::str::from_utf8(bytes.get(4..4 + length)?).ok()?;
        let id = std::str::from_utf8(bytes.get(4 + length..)?).ok()?;
        Some((name.to_string(), id.to_string()))
    };
    read().map(Some).ok_or_else(|| Error::invalid("this is no cursor of this ledger"))
}
