//! As much JSON as a plugin needs: what somebody else wrote, and texts to write.

/// A JSON value that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// As it was written.
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads a document; None is no JSON.
    pub fn parse(bytes: &[u8]) -> Option<Json> {
        let mut p = Parser { bytes, at: 0 };
        let value = p.tree(0)?;
        p.space();
        if p.at == bytes.len() {
            Some(value)
        } else {
            None
        }
    }

    /// What is under a key of an object; of a key that comes twice the last counts.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// A number without a fraction.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The elements of an array; of anything else none.
    pub fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }
}

/// A text as JSON writes it, with its quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The string under a key of an object, or None: no object, no such key, no string. Of a key that comes twice
/// the last counts. Values of other kinds are passed over, however deep.
pub fn string_field(json: &[u8], key: &str) -> Option<String> {
    let mut p = Parser { bytes: json, at: 0 };
    let mut found = None;
    p.object(&mut |p, name| {
        if name == key {
            p.space();
            if p.bytes.get(p.at) == Some(&b'"') {
                found = Some(p.string()?);
                return Some(());
            }
            found = None;
        }
        p.value(0)
    })?;
    p.space();
    if p.at == json.len() {
        found
    } else {
        None
    }
}

/// Deeper values are taken for no JSON.
const MAX_DEPTH: usize = 128;

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        self.space();
        if self.bytes.get(self.at) == Some(&byte) {
            self.at += 1;
            return Some(());
        }
        None
    }

    fn object(&mut self, field: &mut dyn FnMut(&mut Self, String) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        if self.eat(b'}').is_some() {
            return Some(());
        }
        loop {
            self.space();
            let name = self.string()?;
            self.eat(b':')?;
            field(self, name)?;
            if self.eat(b',').is_none() {
                return self.eat(b'}');
            }
        }
    }

    fn tree(&mut self, depth: usize) -> Option<Json> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.space();
        match self.bytes.get(self.at)? {
            b'{' => {
                let mut fields = Vec::new();
                self.object(&mut |p, name| {
                    fields.push((name, p.tree(depth + 1)?));
                    Some(())
                })?;
                Some(Json::Object(fields))
            }
            b'[' => {
                let mut items = Vec::new();
                self.at += 1;
                if self.eat(b']').is_some() {
                    return Some(Json::Array(items));
                }
                loop {
                    items.push(self.tree(depth + 1)?);
                    if self.eat(b',').is_none() {
                        return self.eat(b']').map(|()| Json::Array(items));
                    }
                }
            }
            b'"' => self.string().map(Json::String),
            _ => {
                let start = self.at;
                self.value(depth)?;
                match std::str::from_utf8(&self.bytes[start..self.at]).ok()? {
                    "null" => Some(Json::Null),
                    "true" => Some(Json::Bool(true)),
                    "false" => Some(Json::Bool(false)),
                    number => number.parse::<f64>().ok().map(|_| Json::Number(number.into())),
                }
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth == MAX_DEPTH {
            return None;
        }
        self.space();
        match self.bytes.get(self.at)? {
            b'{' => self.object(&mut |p, _| p.value(depth + 1)),
            b'[' => {
                self.at += 1;
                if self.eat(b']').is_some() {
                    return Some(());
                }
                loop {
                    self.value(depth + 1)?;
                    if self.eat(b',').is_none() {
                        return self.eat(b']');
                    }
                }
            }
            b'"' => self.string().map(drop),
            _ => {
                let start = self.at;
                while matches!(
                    self.bytes.get(self.at),
                    Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.')
                ) {
                    self.at += 1;
                }
                if self.at > start {
                    Some(())
                } else {
                    None
                }
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(out).ok(),
                b'\\' => {
                    let escape = *self.bytes.get(self.at)?;
                    self.at += 1;
                    let character = match escape {
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => self.unicode()?,
                        b'"' | b'\\' | b'/' => escape as char,
                        _ => return None,
                    };
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ => out.push(byte),
            }
        }
    }

    fn unicode(&mut self) -> Option<char> {
        let high = self.hex4()?;
        if !(0xd800..0xdc00).contains(&high) {
            return Some(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if self.bytes.get(self.at..self.at + 2) == Some(b"\\u") {
            let back = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                return char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            }
            self.at = back;
        }
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = std::str::from_utf8(self.bytes.get(self.at..self.at + 4)?).ok()?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
