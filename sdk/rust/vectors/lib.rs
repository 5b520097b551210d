//! A module for the golden vectors of the ABI: what it decodes it encodes again.

use alineo::{messages, table, Error, Manifest, Plugin, Table};
use std::cell::RefCell;

struct Vectors;

impl Plugin for Vectors {
    fn manifest(&self) -> Manifest {
        Manifest { name: "vectors".into(), version: "1.0.0".into(), ..Manifest::default() }
    }
}

alineo::plugin!(Vectors, || Vectors);

/// The answer, which stays until the next call.
struct Answer(RefCell<Vec<u8>>);

// SAFETY: an instance has one thread.
unsafe impl Sync for Answer {}

static ANSWER: Answer = Answer(RefCell::new(Vec::new()));

/// Reads a name, a NUL and bytes from the buffer. The answer's first byte is 0, and the encoding follows; 1, the
/// bytes were refused; or 2, the name is unknown.
#[no_mangle]
pub extern "C" fn recode(size: usize) -> u64 {
    let buffer = alineo_buffer(size);
    // SAFETY: the buffer has that many bytes.
    let request = unsafe { std::slice::from_raw_parts(buffer, size) };
    let mut answer = ANSWER.0.borrow_mut();
    *answer = match split(request) {
        None => vec![2],
        Some((name, bytes)) => match again(name, bytes) {
            None => vec![2],
            Some(Err(_)) => vec![1],
            Some(Ok(mut encoded)) => {
                encoded.insert(0, 0);
                encoded
            }
        },
    };
    (answer.as_ptr() as usize as u64) << 32 | answer.len() as u64
}

fn split(request: &[u8]) -> Option<(&str, &[u8])> {
    let end = request.iter().position(|byte| *byte == 0)?;
    Some((std::str::from_utf8(&request[..end]).ok()?, &request[end + 1..]))
}

fn again(name: &str, bytes: &[u8]) -> Option<Result<Vec<u8>, Error>> {
    if name == "table" {
        return Some(Table::strict(bytes).map_err(Error::from).map(|read| {
            let mut writer = table::Writer::new(read.columns);
            for row in &read.rows {
                writer.row(row);
            }
            writer.finish()
        }));
    }
    messages::recode(name, bytes).map(|result| result.map_err(Error::from))
}
