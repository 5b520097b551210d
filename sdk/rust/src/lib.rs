//! Write a plugin of alineo-host in Rust.
//!
//! A plugin is a type that implements [`Plugin`]. [`plugin!`] makes it the module's:
//!
//! ```
//! use alineo::{Error, Manifest, Plugin};
//!
//! struct Nothing;
//!
//! impl Plugin for Nothing {
//!     fn manifest(&self) -> Manifest {
//!         Manifest { name: "nothing".into(), version: "1.0.0".into(), ..Manifest::default() }
//!     }
//! }
//!
//! alineo::plugin!(Nothing, || Nothing);
//! ```
//!
//! Requests are owned values: nothing of them dies with the call. Errors are [`Error`] with a code. What the
//! host offers is in [`host`]. abi/ABI.md says what each operation must do, and `alineo-host plugin test` says
//! whether it does.

pub mod error;
pub mod guest;
pub mod host;
pub mod http;
pub mod json;
pub mod messages;
pub mod ops;
pub mod table;
pub mod vault;
pub mod wire;

pub use error::Error;
pub use http::Secret;
pub use messages::*;
pub use ops::{column, op, Plugin};
pub use table::{Table, Value};
pub use vault::Vault;
pub use wire::Message;
