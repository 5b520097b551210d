//! Requests through the host, and secrets, which stay there.
//!
//! ```no_run
//! use alineo::http::{granted_secret, send};
//! use alineo::{HTTPHeader, HTTPPart, HTTPRequest};
//!
//! # fn f(egress: u64) -> Result<(), alineo::Error> {
//! let (token, _version) = granted_secret("token")?;
//! let reply = send(&HTTPRequest {
//!     endpoint: egress,
//!     url: "/credential-vault".into(),
//!     method: "POST".into(),
//!     headers: vec![HTTPHeader::text("Content-Type", "application/json")],
//!     body: vec![HTTPPart::text(r#"{"value":""#), token.json(), HTTPPart::text(r#""}"#)],
//!     ..HTTPRequest::default()
//! })?;
//! # Ok(()) }
//! ```

use crate::error::Error;
use crate::host::call;
use crate::messages::*;
use crate::ops::op;

/// Sends a request to an address that was granted, or to an endpoint that came with the running call. Any status
/// is a reply; code `unknown_outcome` says that the request may have arrived.
pub fn send(request: &HTTPRequest) -> Result<HTTPReply, Error> {
    let reply: HTTPReply = call(op::HTTP_SEND, request)?;
    if reply.secrets.len() != request.extract.len() {
        return Err(Error::internal("the host did not answer every pointer"));
    }
    Ok(reply)
}

impl HTTPPart {
    /// A piece of a request as it stands.
    pub fn text(text: impl Into<String>) -> Self {
        HTTPPart { literal: text.into().into_bytes(), ..HTTPPart::default() }
    }
}

impl HTTPHeader {
    /// A header without secrets.
    pub fn text(name: &str, value: &str) -> Self {
        HTTPHeader { name: name.into(), value: vec![HTTPPart::text(value)] }
    }

    /// A header whose value is a secret.
    pub fn secret(name: &str, value: Secret) -> Self {
        HTTPHeader { name: name.into(), value: vec![value.raw()] }
    }
}

impl HTTPReply {
    /// The first header of that name, whatever the case of its letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name)).map(|h| h.value.as_str())
    }
}

/// A value that stays on the host, by its handle, which is good until the running call ends; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secret(pub u64);

impl Secret {
    fn part(self, encoding: u32) -> HTTPPart {
        HTTPPart { secret: self.0, encoding, ..HTTPPart::default() }
    }

    /// The secret as it is, as a piece of a request.
    pub fn raw(self) -> HTTPPart {
        self.part(part_encoding::RAW)
    }

    /// Escaped for the inside of a JSON string; the quotes are not part of it.
    pub fn json(self) -> HTTPPart {
        self.part(part_encoding::JSON)
    }

    /// In standard base64.
    pub fn base64(self) -> HTTPPart {
        self.part(part_encoding::BASE64)
    }

    /// Percent-encoded, for a query or a form.
    pub fn url(self) -> HTTPPart {
        self.part(part_encoding::URL)
    }
}

/// A secret that `[plugins.NAME.grant]` in alineo.toml names, read anew, and a number that is another one when the
/// value is.
pub fn granted_secret(name: &str) -> Result<(Secret, u64), Error> {
    let reply: SecretReply = call(op::SECRET_GET, &SecretGet { name: name.into(), kept: false })?;
    Ok((Secret(reply.secret), reply.version))
}

/// A secret that was kept in an earlier call.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub secret: Secret,
    /// Milliseconds that are left of its time; 0: no end.
    pub expires_ms: u64,
    /// What it was kept with.
    pub note: Vec<u8>,
}

/// What was kept under a name; code `not_found` when nothing is, or its time is over.
pub fn kept_secret(name: &str) -> Result<Kept, Error> {
    let reply: SecretReply = call(op::SECRET_GET, &SecretGet { name: name.into(), kept: true })?;
    Ok(Kept { secret: Secret(reply.secret), expires_ms: reply.expires_ms, note: reply.note })
}

/// Keeps a secret on the host for so many milliseconds, 0 being for as long as the plugin lives, for all instances
/// of this plugin. The note comes back with it and is no secret.
pub fn keep_secret(name: &str, value: Secret, ttl_ms: u64, note: &[u8]) -> Result<(), Error> {
    let request = SecretKeep { name: name.into(), secret: value.0, ttl_ms, note: note.to_vec() };
    call::<_, Empty>(op::SECRET_KEEP, &request).map(drop)
}

/// Drops what was kept under a name.
pub fn forget_secret(name: &str) -> Result<(), Error> {
    keep_secret(name, Secret(0), 0, &[])
}
