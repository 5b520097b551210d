//! The one error that crosses the ABI.

use crate::messages::code;
pub use crate::messages::Error;
use crate::wire::Malformed;
use std::fmt;

impl Error {
    /// An error of a code (see the module `code`).
    pub fn new(code: u32, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), ..Error::default() }
    }

    /// The request is wrong; the same request fails again.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::new(code::INVALID, message)
    }

    /// What the request names does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::new(code::NOT_FOUND, message)
    }

    /// What is there is not what the request expected.
    pub fn conflict(message: impl Into<String>) -> Self {
        Error::new(code::CONFLICT, message)
    }

    /// The plugin has no such operation.
    pub fn unsupported(operation: &str) -> Self {
        Error::new(code::UNSUPPORTED, format!("this plugin has no operation {operation}"))
    }

    /// A fault of the plugin.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(code::INTERNAL, message)
    }

    /// Adds a detail, such as `entry` or `segment` with an index.
    pub fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.details.insert(key.to_string(), value.to_string());
        self
    }
}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Error::invalid(format!("malformed message: {}", malformed.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for Error {}
