//! Tables: batches of typed rows (abi/ABI.md, section 5).

use crate::wire::Malformed;

/// One typed value. Text and JSON are bytes, because the host passes on what a database holds; `as_text`
/// checks them.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Bool(bool),
    Text(Vec<u8>),
    Json(Vec<u8>),
    Blob(Vec<u8>),
    /// A tag of a later version, with what it carries.
    Other(u8, Vec<u8>),
}

impl Default for Value {
    fn default() -> Self {
        Value::Null
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.as_bytes().to_vec())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl Value {
    /// The number, when it is an i64.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, when it is text or JSON in UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(bytes) | Value::Json(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The bytes of text, JSON or a blob.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Text(bytes) | Value::Json(bytes) | Value::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Appends the tagged value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.push(0),
            Value::Int(value) => {
                out.push(1);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Value::Real(value) => {
                out.push(2);
                out.extend_from_slice(&value.to_bits().to_le_bytes());
            }
            Value::Bool(value) => out.extend_from_slice(&[3, u8::from(*value)]),
            Value::Text(bytes) => put_sized(out, 4, bytes),
            Value::Json(bytes) => put_sized(out, 5, bytes),
            Value::Blob(bytes) => put_sized(out, 6, bytes),
            Value::Other(tag, bytes) => put_sized(out, *tag, bytes),
        }
    }

    /// Reads the value that bytes begin with, and returns what follows.
    pub fn read(bytes: &[u8]) -> Result<(Value, &[u8]), Malformed> {
        let (&tag, rest) = bytes.split_first().ok_or(Malformed("it ends too early"))?;
        match tag {
            0 => Ok((Value::Null, rest)),
            1 => take8(rest).map(|(raw, rest)| (Value::Int(i64::from_le_bytes(raw)), rest)),
            2 => take8(rest).map(|(raw, rest)| (Value::Real(f64::from_bits(u64::from_le_bytes(raw))), rest)),
            3 => match rest.split_first() {
                Some((&byte, rest)) if byte < 2 => Ok((Value::Bool(byte == 1), rest)),
                Some(_) => Err(Malformed("bool is neither 0 nor 1")),
                None => Err(Malformed("it ends too early")),
            },
            _ => {
                let (length, rest) = take4(rest)?;
                if length as usize > rest.len() {
                    return Err(Malformed("it ends too early"));
                }
                let (bytes, rest) = rest.split_at(length as usize);
                let bytes = bytes.to_vec();
                let value = match tag {
                    4 => Value::Text(bytes),
                    5 => Value::Json(bytes),
                    6 => Value::Blob(bytes),
                    _ => Value::Other(tag, bytes),
                };
                Ok((value, rest))
            }
        }
    }
}

fn put_sized(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn take8(bytes: &[u8]) -> Result<([u8; 8], &[u8]), Malformed> {
    let raw = bytes.get(..8).and_then(|raw| raw.try_into().ok()).ok_or(Malformed("it ends too early"))?;
    Ok((raw, &bytes[8..]))
}

fn take4(bytes: &[u8]) -> Result<(u32, &[u8]), Malformed> {
    let raw = bytes.get(..4).and_then(|raw| raw.try_into().ok()).ok_or(Malformed("it ends too early"))?;
    Ok((u32::from_le_bytes(raw), &bytes[4..]))
}

/// Most columns of a table.
const MAX_COLUMNS: u32 = 32_767;

/// A table that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: usize,
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// Reads a table; no bytes are a table without rows.
    pub fn decode(bytes: &[u8]) -> Result<Table, Malformed> {
        if bytes.is_empty() {
            return Ok(Table::default());
        }
        Table::strict(bytes)
    }

    /// Reads a table, whose header must be there.
    pub fn strict(bytes: &[u8]) -> Result<Table, Malformed> {
        let (rows, rest) = take4(bytes)?;
        let (columns, mut rest) = take4(rest)?;
        if columns > MAX_COLUMNS {
            return Err(Malformed("too many columns"));
        }
        if rows > 0 && columns == 0 {
            return Err(Malformed("rows without columns"));
        }
        // Each value has a byte at least: nothing is allocated for what can't be there.
        if u64::from(rows) * u64::from(columns) > rest.len() as u64 {
            return Err(Malformed("it ends too early"));
        }
        let mut table = Table { columns: columns as usize, rows: Vec::with_capacity(rows as usize) };
        for _ in 0..rows {
            let mut row = Vec::with_capacity(columns as usize);
            for _ in 0..columns {
                let (value, behind) = Value::read(rest)?;
                row.push(value);
                rest = behind;
            }
            table.rows.push(row);
        }
        if rest.is_empty() {
            Ok(table)
        } else {
            Err(Malformed("bytes are left over behind the last row"))
        }
    }
}

/// Writes a table row by row.
pub struct Writer {
    out: Vec<u8>,
    columns: usize,
    rows: u32,
}

impl Writer {
    /// Begins a table.
    pub fn new(columns: usize) -> Self {
        let mut out = vec![0; 4];
        out.extend_from_slice(&(columns as u32).to_le_bytes());
        Writer { out, columns, rows: 0 }
    }

    /// Adds a row, which has as many values as there are columns: missing ones are null, and more are a
    /// mistake of the program.
    pub fn row(&mut self, values: &[Value]) {
        assert!(values.len() <= self.columns, "a row has more values than the table has columns");
        for value in values {
            value.encode(&mut self.out);
        }
        self.out.resize(self.out.len() + self.columns - values.len(), 0);
        self.rows += 1;
    }

    /// How many bytes there are so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The table's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.out[..4].copy_from_slice(&self.rows.to_le_bytes());
        self.out
    }
}
