//! The wire format of messages: protocol buffers, as far as the ABI uses them (abi/ABI.md, section 3).

use crate::table::Value;
use std::collections::BTreeMap;

/// Why bytes are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// Most elements of a repeated field or map.
const MAX_ELEMENTS: usize = 65_536;

/// A message of the ABI.
pub trait Message: Default {
    /// Appends the canonical encoding.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads fields into the message: what comes again replaces, messages merge.
    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed>;

    /// Reads a message.
    fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut message = Self::default();
        message.merge(bytes)?;
        Ok(message)
    }

    /// The canonical encoding.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }
}

/// Reads fields one by one.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The next field's number and wire type, or None at the end.
    pub fn tag(&mut self) -> Result<Option<(u32, u32)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = tag >> 3;
        if number == 0 || number >= 1 << 29 {
            return Err(Malformed("field number out of range"));
        }
        Ok(Some((number as u32, (tag & 7) as u32)))
    }

    pub fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for i in 0..10 {
            let byte = *self.rest.get(i).ok_or(Malformed("it ends too early"))?;
            if i == 9 && byte > 1 {
                return Err(Malformed("number of more than 64 bits"));
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        Err(Malformed("number of more than 64 bits"))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        if length > self.rest.len() as u64 {
            return Err(Malformed("it ends too early"));
        }
        let (bytes, rest) = self.rest.split_at(length as usize);
        self.rest = rest;
        Ok(bytes)
    }

    pub fn string(&mut self) -> Result<String, Malformed> {
        match std::str::from_utf8(self.bytes()?) {
            Ok(text) => Ok(text.to_string()),
            Err(_) => Err(Malformed("string is not UTF-8")),
        }
    }

    /// Passes a value that nobody asked for.
    pub fn skip(&mut self, wire_type: u32) -> Result<(), Malformed> {
        match wire_type {
            0 => self.varint().map(drop),
            1 => self.pass(8),
            2 => self.bytes().map(drop),
            5 => self.pass(4),
            _ => Err(Malformed("unknown wire type")),
        }
    }

    fn pass(&mut self, n: usize) -> Result<(), Malformed> {
        self.rest = self.rest.get(n..).ok_or(Malformed("it ends too early"))?;
        Ok(())
    }
}

fn put_raw(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn put_varint(out: &mut Vec<u8>, number: u32, value: u64) {
    put_raw(out, u64::from(number) << 3);
    put_raw(out, value);
}

pub fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_raw(out, u64::from(number) << 3 | 2);
    put_raw(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub fn put_message<M: Message>(out: &mut Vec<u8>, number: u32, message: &M) {
    put_bytes(out, number, &message.to_bytes());
}

pub fn put_message_unless_empty<M: Message>(out: &mut Vec<u8>, number: u32, message: &M) {
    let bytes = message.to_bytes();
    if !bytes.is_empty() {
        put_bytes(out, number, &bytes);
    }
}

pub fn put_packed(out: &mut Vec<u8>, number: u32, values: &[u64]) {
    if values.is_empty() {
        return;
    }
    let mut packed = Vec::new();
    for value in values {
        put_raw(&mut packed, *value);
    }
    put_bytes(out, number, &packed);
}

pub fn put_map(out: &mut Vec<u8>, number: u32, map: &BTreeMap<String, String>) {
    for (key, value) in map {
        let mut entry = Vec::new();
        put_bytes(&mut entry, 1, key.as_bytes());
        put_bytes(&mut entry, 2, value.as_bytes());
        put_bytes(out, number, &entry);
    }
}

pub fn put_value(out: &mut Vec<u8>, number: u32, value: &Value) {
    if *value != Value::Null {
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        put_bytes(out, number, &bytes);
    }
}

pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

pub fn push<T>(list: &mut Vec<T>, element: T) -> Result<(), Malformed> {
    if list.len() == MAX_ELEMENTS {
        return Err(Malformed("too many elements"));
    }
    list.push(element);
    Ok(())
}

pub fn merge_packed(list: &mut Vec<u64>, bytes: &[u8]) -> Result<(), Malformed> {
    let mut r = Reader::new(bytes);
    while !r.rest.is_empty() {
        push(list, r.varint()?)?;
    }
    Ok(())
}

pub fn merge_entry(map: &mut BTreeMap<String, String>, bytes: &[u8]) -> Result<(), Malformed> {
    let (mut key, mut value) = (String::new(), String::new());
    let mut r = Reader::new(bytes);
    while let Some((number, wire_type)) = r.tag()? {
        match (number, wire_type) {
            (1, 2) => key = r.string()?,
            (2, 2) => value = r.string()?,
            _ => r.skip(wire_type)?,
        }
    }
    if map.len() == MAX_ELEMENTS && !map.contains_key(&key) {
        return Err(Malformed("too many elements"));
    }
    map.insert(key, value);
    Ok(())
}

/// Reads the one tagged value that bytes hold; no bytes are null.
pub fn value(bytes: &[u8]) -> Result<Value, Malformed> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (value, rest) = Value::read(bytes)?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(Malformed("bytes are left over behind the value"))
    }
}

/// Decodes and encodes again.
pub fn recode<M: Message>(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    M::decode(bytes).map(|message| message.to_bytes())
}
