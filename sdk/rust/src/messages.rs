// Written by internal/sdkgen from abi/. Do not edit.

//! The messages of the ABI, as structs.

use crate::table::Value;
use crate::wire::{self, Malformed, Message, Reader};
use std::collections::BTreeMap;

/// What went wrong. Zero is not a failure.
pub mod code {
    pub const OK: u32 = 0;
    /// the request is wrong; the same request fails again
    pub const INVALID: u32 = 1;
    /// what the request names does not exist
    pub const NOT_FOUND: u32 = 2;
    /// what is there is not what the request expected
    pub const CONFLICT: u32 = 3;
    /// not granted, or refused by the other side
    pub const DENIED: u32 = 4;
    /// the operation is unknown to the receiver
    pub const UNSUPPORTED: u32 = 5;
    /// nothing was done; the same request may succeed later
    pub const UNAVAILABLE: u32 = 6;
    /// it may or may not have been done
    pub const UNKNOWN_OUTCOME: u32 = 7;
    /// a limit was reached
    pub const RESOURCE_EXHAUSTED: u32 = 8;
    /// time ran out and nothing was done
    pub const DEADLINE: u32 = 9;
    /// a fault of the receiver
    pub const INTERNAL: u32 = 10;
}

/// What a guest keeps between calls.
pub mod guest_state {
    /// nothing: instances are pooled, replaced and reloaded freely
    pub const NONE: u32 = 0;
    /// lost by a trap: the plugin is then failed, never silently reborn
    pub const VOLATILE: u32 = 1;
    /// owns something outside: one instance at a time
    pub const EXCLUSIVE: u32 = 2;
}

/// Where a parameter's value comes from.
pub mod param_kind {
    pub const LITERAL: u32 = 0;
    /// a column of the step's batch
    pub const COLUMN: u32 = 1;
    /// the first row of an earlier step's result
    pub const RESULT: u32 = 2;
}

/// How a secret is written.
pub mod part_encoding {
    /// as it is
    pub const RAW: u32 = 0;
    /// escaped for the inside of a JSON string, without the quotes
    pub const JSON: u32 = 1;
    /// standard base64 with padding
    pub const BASE64: u32 = 2;
    /// percent-encoded
    pub const URL: u32 = 3;
}

pub mod run_outcome {
    /// it is there, and was left as it is
    pub const UNCHANGED: u32 = 0;
    /// it was made, patched, claimed or deleted
    pub const CHANGED: u32 = 1;
    /// there is no such run
    pub const UNKNOWN: u32 = 2;
}

/// Where the rows of a step go.
pub mod sql_result {
    pub const NONE: u32 = 0;
    /// the reply carries them as a table
    pub const INLINE: u32 = 1;
    /// they stay on the host as a rows handle
    pub const HANDLE: u32 = 2;
}

/// Reply of conditional operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    pub applied: bool,
}

impl Message for Applied {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.applied {
            wire::put_varint(out, 1, u64::from(self.applied));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.applied = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// One header of the form customHeaders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuthHeader {
    pub name: String,
    /// whose value it has; empty: the one that is bound
    pub credential: String,
}

impl Message for AuthHeader {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if !self.credential.is_empty() {
            wire::put_bytes(out, 2, self.credential.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => self.credential = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of batch.cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchBytes {
    pub data: Vec<u8>,
    /// length of the whole cell
    pub total: u64,
}

impl Message for BatchBytes {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.data.is_empty() {
            wire::put_bytes(out, 1, &self.data);
        }
        if self.total != 0 {
            wire::put_varint(out, 2, self.total);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.data = r.bytes()?.to_vec(),
                (2, 0) => self.total = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of batch.cell: a range of one text, json or blob cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchCell {
    pub handle: u64,
    pub row: u64,
    pub column: u64,
    pub offset: u64,
    pub length: u64,
}

impl Message for BatchCell {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.handle != 0 {
            wire::put_varint(out, 1, self.handle);
        }
        if self.row != 0 {
            wire::put_varint(out, 2, self.row);
        }
        if self.column != 0 {
            wire::put_varint(out, 3, self.column);
        }
        if self.offset != 0 {
            wire::put_varint(out, 4, self.offset);
        }
        if self.length != 0 {
            wire::put_varint(out, 5, self.length);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.handle = r.varint()?,
                (2, 0) => self.row = r.varint()?,
                (3, 0) => self.column = r.varint()?,
                (4, 0) => self.offset = r.varint()?,
                (5, 0) => self.length = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of batch.read: rows of a handle as a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchRead {
    pub handle: u64,
    pub first: u64,
    /// 0: no bound but the host's
    pub max_rows: u64,
    /// 0: the host's
    pub max_bytes: u64,
}

impl Message for BatchRead {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.handle != 0 {
            wire::put_varint(out, 1, self.handle);
        }
        if self.first != 0 {
            wire::put_varint(out, 2, self.first);
        }
        if self.max_rows != 0 {
            wire::put_varint(out, 3, self.max_rows);
        }
        if self.max_bytes != 0 {
            wire::put_varint(out, 4, self.max_bytes);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.handle = r.varint()?,
                (2, 0) => self.first = r.varint()?,
                (3, 0) => self.max_rows = r.varint()?,
                (4, 0) => self.max_bytes = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of batch.read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchRows {
    pub table: Vec<u8>,
    /// first row not in the table
    pub next: u64,
    /// row<<8 | column of each cell that was cut to null
    pub cut: Vec<u64>,
}

impl Message for BatchRows {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.table.is_empty() {
            wire::put_bytes(out, 1, &self.table);
        }
        if self.next != 0 {
            wire::put_varint(out, 2, self.next);
        }
        wire::put_packed(out, 3, &self.cut);
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.table = r.bytes()?.to_vec(),
                (2, 0) => self.next = r.varint()?,
                (3, 0) => wire::push(&mut self.cut, r.varint()?)?,
                (3, 2) => wire::merge_packed(&mut self.cut, r.bytes()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Which requests of a sandbox get a credential, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Binding {
    /// empty: https
    pub schemes: Vec<String>,
    /// empty: 443
    pub ports: Vec<u64>,
    /// names or *.names; at least one
    pub hosts: Vec<String>,
    /// empty: GET, POST, PUT, PATCH, DELETE
    pub methods: Vec<String>,
    /// begin with /, a * at the end matches what follows; empty: all
    pub paths: Vec<String>,
    /// bearer, basic, apiKey, customHeaders or passthrough
    pub auth: String,
    /// apiKey
    pub header: String,
    /// customHeaders
    pub headers: Vec<AuthHeader>,
    /// passthrough
    pub substitutions: Vec<Substitution>,
}

impl Message for Binding {
    fn encode(&self, out: &mut Vec<u8>) {
        for element in &self.schemes {
            wire::put_bytes(out, 1, element.as_bytes());
        }
        wire::put_packed(out, 2, &self.ports);
        for element in &self.hosts {
            wire::put_bytes(out, 3, element.as_bytes());
        }
        for element in &self.methods {
            wire::put_bytes(out, 4, element.as_bytes());
        }
        for element in &self.paths {
            wire::put_bytes(out, 5, element.as_bytes());
        }
        if !self.auth.is_empty() {
            wire::put_bytes(out, 6, self.auth.as_bytes());
        }
        if !self.header.is_empty() {
            wire::put_bytes(out, 7, self.header.as_bytes());
        }
        for element in &self.headers {
            wire::put_message(out, 8, element);
        }
        for element in &self.substitutions {
            wire::put_message(out, 9, element);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => wire::push(&mut self.schemes, r.string()?)?,
                (2, 0) => wire::push(&mut self.ports, r.varint()?)?,
                (2, 2) => wire::merge_packed(&mut self.ports, r.bytes()?)?,
                (3, 2) => wire::push(&mut self.hosts, r.string()?)?,
                (4, 2) => wire::push(&mut self.methods, r.string()?)?,
                (5, 2) => wire::push(&mut self.paths, r.string()?)?,
                (6, 2) => self.auth = r.string()?,
                (7, 2) => self.header = r.string()?,
                (8, 2) => wire::push(&mut self.headers, Message::decode(r.bytes()?)?)?,
                (9, 2) => wire::push(&mut self.substitutions, Message::decode(r.bytes()?)?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of broker.list_bindings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerListReply {
    pub bindings: Vec<NamedBinding>,
}

impl Message for BrokerListReply {
    fn encode(&self, out: &mut Vec<u8>) {
        for element in &self.bindings {
            wire::put_message(out, 1, element);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => wire::push(&mut self.bindings, Message::decode(r.bytes()?)?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of broker.list_bindings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerListRequest {
    pub sandbox_id: String,
    /// endpoint handle
    pub egress: u64,
}

impl Message for BrokerListRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.sandbox_id.is_empty() {
            wire::put_bytes(out, 1, self.sandbox_id.as_bytes());
        }
        if self.egress != 0 {
            wire::put_varint(out, 2, self.egress);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.sandbox_id = r.string()?,
                (2, 0) => self.egress = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of broker.patch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerPatchRequest {
    pub sandbox_id: String,
    pub name: String,
    /// endpoint handle
    pub egress: u64,
    /// secret handle; 0: stays
    pub value: u64,
    /// without hosts: stays
    pub binding: Binding,
}

impl Message for BrokerPatchRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.sandbox_id.is_empty() {
            wire::put_bytes(out, 1, self.sandbox_id.as_bytes());
        }
        if !self.name.is_empty() {
            wire::put_bytes(out, 2, self.name.as_bytes());
        }
        if self.egress != 0 {
            wire::put_varint(out, 3, self.egress);
        }
        if self.value != 0 {
            wire::put_varint(out, 4, self.value);
        }
        wire::put_message_unless_empty(out, 5, &self.binding);
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.sandbox_id = r.string()?,
                (2, 2) => self.name = r.string()?,
                (3, 0) => self.egress = r.varint()?,
                (4, 0) => self.value = r.varint()?,
                (5, 2) => self.binding.merge(r.bytes()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of broker.remove.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerRemoveRequest {
    pub sandbox_id: String,
    pub name: String,
    /// endpoint handle
    pub egress: u64,
}

impl Message for BrokerRemoveRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.sandbox_id.is_empty() {
            wire::put_bytes(out, 1, self.sandbox_id.as_bytes());
        }
        if !self.name.is_empty() {
            wire::put_bytes(out, 2, self.name.as_bytes());
        }
        if self.egress != 0 {
            wire::put_varint(out, 3, self.egress);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.sandbox_id = r.string()?,
                (2, 2) => self.name = r.string()?,
                (3, 0) => self.egress = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of broker.resolve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerResolveReply {
    /// secret handle
    pub value: u64,
    /// not to be used longer than that; 0: nothing is said
    pub expires_ms: u64,
}

impl Message for BrokerResolveReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.value != 0 {
            wire::put_varint(out, 1, self.value);
        }
        if self.expires_ms != 0 {
            wire::put_varint(out, 2, self.expires_ms);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.value = r.varint()?,
                (2, 0) => self.expires_ms = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of broker.resolve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerResolveRequest {
    /// empty: before there is one
    pub sandbox_id: String,
    pub name: String,
    pub source: Source,
}

impl Message for BrokerResolveRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.sandbox_id.is_empty() {
            wire::put_bytes(out, 1, self.sandbox_id.as_bytes());
        }
        if !self.name.is_empty() {
            wire::put_bytes(out, 2, self.name.as_bytes());
        }
        wire::put_message_unless_empty(out, 3, &self.source);
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.sandbox_id = r.string()?,
                (2, 2) => self.name = r.string()?,
                (3, 2) => self.source.merge(r.bytes()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of broker.set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BrokerSetRequest {
    pub sandbox_id: String,
    pub name: String,
    /// endpoint handle
    pub egress: u64,
    /// secret handle
    pub value: u64,
    pub binding: Binding,
}

impl Message for BrokerSetRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.sandbox_id.is_empty() {
            wire::put_bytes(out, 1, self.sandbox_id.as_bytes());
        }
        if !self.name.is_empty() {
            wire::put_bytes(out, 2, self.name.as_bytes());
        }
        if self.egress != 0 {
            wire::put_varint(out, 3, self.egress);
        }
        if self.value != 0 {
            wire::put_varint(out, 4, self.value);
        }
        wire::put_message_unless_empty(out, 5, &self.binding);
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.sandbox_id = r.string()?,
                (2, 2) => self.name = r.string()?,
                (3, 0) => self.egress = r.varint()?,
                (4, 0) => self.value = r.varint()?,
                (5, 2) => self.binding.merge(r.bytes()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of configure. Diagnostics refuse the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigureReply {
    pub diagnostics: Vec<Diagnostic>,
}

impl Message for ConfigureReply {
    fn encode(&self, out: &mut Vec<u8>) {
        for element in &self.diagnostics {
            wire::put_message(out, 1, element);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => wire::push(&mut self.diagnostics, Message::decode(r.bytes()?)?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of configure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigureRequest {
    /// [plugins.NAME.config] as a JSON object
    pub config: String,
    pub host_version: String,
    /// abilities of the host beyond the first form of version 1
    pub features: Vec<String>,
}

impl Message for ConfigureRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.config.is_empty() {
            wire::put_bytes(out, 1, self.config.as_bytes());
        }
        if !self.host_version.is_empty() {
            wire::put_bytes(out, 2, self.host_version.as_bytes());
        }
        for element in &self.features {
            wire::put_bytes(out, 3, element.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.config = r.string()?,
                (2, 2) => self.host_version = r.string()?,
                (3, 2) => wire::push(&mut self.features, r.string()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of runs.count_by_sandbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Count {
    pub count: u64,
}

impl Message for Count {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.count != 0 {
            wire::put_varint(out, 1, self.count);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.count = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of ledger.delete_sandbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteReply {
    /// entries that this call removed
    pub rows: u64,
    /// the deletion has not ended: ask again
    pub more: bool,
}

impl Message for DeleteReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.rows != 0 {
            wire::put_varint(out, 1, self.rows);
        }
        if self.more {
            wire::put_varint(out, 2, u64::from(self.more));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.rows = r.varint()?,
                (2, 0) => self.more = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// One complaint about a configuration key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostic {
    /// dotted path below [plugins.NAME.config]
    pub key: String,
    pub message: String,
}

impl Message for Diagnostic {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.key.is_empty() {
            wire::put_bytes(out, 1, self.key.as_bytes());
        }
        if !self.message.is_empty() {
            wire::put_bytes(out, 2, self.message.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key = r.string()?,
                (2, 2) => self.message = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// The message without fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Empty {
}

impl Message for Empty {
    fn encode(&self, _out: &mut Vec<u8>) {
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of environment.get and request of environment.save.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    pub name: String,
    pub snapshot_id: String,
    pub image: String,
    /// Unix milliseconds
    pub built_at: i64,
}

impl Message for Environment {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if !self.snapshot_id.is_empty() {
            wire::put_bytes(out, 2, self.snapshot_id.as_bytes());
        }
        if !self.image.is_empty() {
            wire::put_bytes(out, 3, self.image.as_bytes());
        }
        if self.built_at != 0 {
            wire::put_varint(out, 4, self.built_at as u64);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => self.snapshot_id = r.string()?,
                (3, 2) => self.image = r.string()?,
                (4, 0) => self.built_at = r.varint()? as i64,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of environment.get and environment.delete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvironmentRequest {
    pub name: String,
}

impl Message for EnvironmentRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// The one error that crosses the ABI, in both directions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Error {
    pub code: u32,
    /// for people
    pub message: String,
    pub retryable: bool,
    /// well-known keys: entry, segment, step, row, key
    pub details: BTreeMap<String, String>,
}

impl Message for Error {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.code != 0 {
            wire::put_varint(out, 1, u64::from(self.code));
        }
        if !self.message.is_empty() {
            wire::put_bytes(out, 2, self.message.as_bytes());
        }
        if self.retryable {
            wire::put_varint(out, 3, u64::from(self.retryable));
        }
        wire::put_map(out, 4, &self.details);
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.code = r.varint()? as u32,
                (2, 2) => self.message = r.string()?,
                (3, 0) => self.retryable = r.varint()? != 0,
                (4, 2) => wire::merge_entry(&mut self.details, r.bytes()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.find_sandbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindSandboxRequest {
    pub sandbox_id: String,
}

impl Message for FindSandboxRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.sandbox_id.is_empty() {
            wire::put_bytes(out, 1, self.sandbox_id.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.sandbox_id = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// One header of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HTTPField {
    /// canonical: Content-Type
    pub name: String,
    pub value: String,
}

impl Message for HTTPField {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if !self.value.is_empty() {
            wire::put_bytes(out, 2, self.value.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => self.value = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// One header of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HTTPHeader {
    pub name: String,
    pub value: Vec<HTTPPart>,
}

impl Message for HTTPHeader {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        for element in &self.value {
            wire::put_message(out, 2, element);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => wire::push(&mut self.value, Message::decode(r.bytes()?)?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// A piece of a body or header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HTTPPart {
    pub literal: Vec<u8>,
    /// handle; not 0: it stands in the place of literal
    pub secret: u64,
    pub encoding: u32,
}

impl Message for HTTPPart {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.literal.is_empty() {
            wire::put_bytes(out, 1, &self.literal);
        }
        if self.secret != 0 {
            wire::put_varint(out, 2, self.secret);
        }
        if self.encoding != 0 {
            wire::put_varint(out, 3, u64::from(self.encoding));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.literal = r.bytes()?.to_vec(),
                (2, 0) => self.secret = r.varint()?,
                (3, 0) => self.encoding = r.varint()? as u32,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of http.send.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HTTPReply {
    pub status: u64,
    pub headers: Vec<HTTPField>,
    pub body: Vec<u8>,
    /// handles, one of each of extract; 0 where there is no text
    pub secrets: Vec<u64>,
}

impl Message for HTTPReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.status != 0 {
            wire::put_varint(out, 1, self.status);
        }
        for element in &self.headers {
            wire::put_message(out, 2, element);
        }
        if !self.body.is_empty() {
            wire::put_bytes(out, 3, &self.body);
        }
        wire::put_packed(out, 4, &self.secrets);
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.status = r.varint()?,
                (2, 2) => wire::push(&mut self.headers, Message::decode(r.bytes()?)?)?,
                (3, 2) => self.body = r.bytes()?.to_vec(),
                (4, 0) => wire::push(&mut self.secrets, r.varint()?)?,
                (4, 2) => wire::merge_packed(&mut self.secrets, r.bytes()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of http.send.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HTTPRequest {
    /// handle that came with the call; 0: url is a whole one
    pub endpoint: u64,
    /// with an endpoint: path and query below it
    pub url: String,
    /// empty: GET
    pub method: String,
    pub headers: Vec<HTTPHeader>,
    pub body: Vec<HTTPPart>,
    /// of the reply's body; 0: the host's bound
    pub max_bytes: u64,
    /// 0: what is left of the call
    pub timeout_ms: u64,
    /// JSON pointers: texts of the reply that become secrets
    pub extract: Vec<String>,
    /// JSON pointers: parts of the reply that become null
    pub hide: Vec<String>,
}

impl Message for HTTPRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.endpoint != 0 {
            wire::put_varint(out, 1, self.endpoint);
        }
        if !self.url.is_empty() {
            wire::put_bytes(out, 2, self.url.as_bytes());
        }
        if !self.method.is_empty() {
            wire::put_bytes(out, 3, self.method.as_bytes());
        }
        for element in &self.headers {
            wire::put_message(out, 4, element);
        }
        for element in &self.body {
            wire::put_message(out, 5, element);
        }
        if self.max_bytes != 0 {
            wire::put_varint(out, 6, self.max_bytes);
        }
        if self.timeout_ms != 0 {
            wire::put_varint(out, 7, self.timeout_ms);
        }
        for element in &self.extract {
            wire::put_bytes(out, 8, element.as_bytes());
        }
        for element in &self.hide {
            wire::put_bytes(out, 9, element.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.endpoint = r.varint()?,
                (2, 2) => self.url = r.string()?,
                (3, 2) => self.method = r.string()?,
                (4, 2) => wire::push(&mut self.headers, Message::decode(r.bytes()?)?)?,
                (5, 2) => wire::push(&mut self.body, Message::decode(r.bytes()?)?)?,
                (6, 0) => self.max_bytes = r.varint()?,
                (7, 0) => self.timeout_ms = r.varint()?,
                (8, 2) => wire::push(&mut self.extract, r.string()?)?,
                (9, 2) => wire::push(&mut self.hide, r.string()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of ledger.open: where a sandbox's ledger stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// the claim that may append
    pub epoch: u64,
    /// highest step, -1 when there is none
    pub last_step: i64,
    /// highest time, Unix milliseconds, 0 when there is none
    pub max_ts: i64,
    /// rows
    pub entries: u64,
    /// of the last segment, empty when there is none
    pub hash: Vec<u8>,
    /// of the last segment, empty when there is none
    pub segment_id: Vec<u8>,
}

impl Message for Head {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.epoch != 0 {
            wire::put_varint(out, 1, self.epoch);
        }
        if self.last_step != 0 {
            wire::put_varint(out, 2, wire::zigzag(self.last_step));
        }
        if self.max_ts != 0 {
            wire::put_varint(out, 3, self.max_ts as u64);
        }
        if self.entries != 0 {
            wire::put_varint(out, 4, self.entries);
        }
        if !self.hash.is_empty() {
            wire::put_bytes(out, 5, &self.hash);
        }
        if !self.segment_id.is_empty() {
            wire::put_bytes(out, 6, &self.segment_id);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.epoch = r.varint()?,
                (2, 0) => self.last_step = wire::unzigzag(r.varint()?),
                (3, 0) => self.max_ts = r.varint()? as i64,
                (4, 0) => self.entries = r.varint()?,
                (5, 2) => self.hash = r.bytes()?.to_vec(),
                (6, 2) => self.segment_id = r.bytes()?.to_vec(),
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of health.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HealthReply {
    pub message: String,
}

impl Message for HealthReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.message.is_empty() {
            wire::put_bytes(out, 1, self.message.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.message = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of instances.put.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    pub key: String,
    pub provider: String,
    pub provider_sandbox_id: String,
    pub latest_snapshot_id: Option<String>,
    pub thread_id: String,
    pub latest_run_id: Option<String>,
    /// Unix milliseconds; 0: the store's clock
    pub updated_at: i64,
}

impl Message for Instance {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.key.is_empty() {
            wire::put_bytes(out, 1, self.key.as_bytes());
        }
        if !self.provider.is_empty() {
            wire::put_bytes(out, 2, self.provider.as_bytes());
        }
        if !self.provider_sandbox_id.is_empty() {
            wire::put_bytes(out, 3, self.provider_sandbox_id.as_bytes());
        }
        if let Some(value) = &self.latest_snapshot_id {
            wire::put_bytes(out, 4, value.as_bytes());
        }
        if !self.thread_id.is_empty() {
            wire::put_bytes(out, 5, self.thread_id.as_bytes());
        }
        if let Some(value) = &self.latest_run_id {
            wire::put_bytes(out, 6, value.as_bytes());
        }
        if self.updated_at != 0 {
            wire::put_varint(out, 7, self.updated_at as u64);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key = r.string()?,
                (2, 2) => self.provider = r.string()?,
                (3, 2) => self.provider_sandbox_id = r.string()?,
                (4, 2) => self.latest_snapshot_id = Some(r.string()?),
                (5, 2) => self.thread_id = r.string()?,
                (6, 2) => self.latest_run_id = Some(r.string()?),
                (7, 0) => self.updated_at = r.varint()? as i64,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of instances.delete_if.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstanceDeleteIf {
    pub key: String,
    /// provider sandbox id of the stored record
    pub expected: String,
}

impl Message for InstanceDeleteIf {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.key.is_empty() {
            wire::put_bytes(out, 1, self.key.as_bytes());
        }
        if !self.expected.is_empty() {
            wire::put_bytes(out, 2, self.expected.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key = r.string()?,
                (2, 2) => self.expected = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of instances.list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstanceListRequest {
    /// strictly, Unix milliseconds
    pub updated_before: Option<i64>,
    /// of the page before; empty starts at the beginning
    pub cursor: Vec<u8>,
    /// most rows; 0 lets the guest choose
    pub limit: u64,
}

impl Message for InstanceListRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if let Some(value) = self.updated_before {
            wire::put_varint(out, 1, value as u64);
        }
        if !self.cursor.is_empty() {
            wire::put_bytes(out, 2, &self.cursor);
        }
        if self.limit != 0 {
            wire::put_varint(out, 3, self.limit);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.updated_before = Some(r.varint()? as i64),
                (2, 2) => self.cursor = r.bytes()?.to_vec(),
                (3, 0) => self.limit = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of instances.put_if.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstancePutIf {
    pub instance: Instance,
    /// provider sandbox id of the stored record; absent: there is none
    pub expected: Option<String>,
}

impl Message for InstancePutIf {
    fn encode(&self, out: &mut Vec<u8>) {
        wire::put_message_unless_empty(out, 1, &self.instance);
        if let Some(value) = &self.expected {
            wire::put_bytes(out, 2, value.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.instance.merge(r.bytes()?)?,
                (2, 2) => self.expected = Some(r.string()?),
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request that names one thing: the key of an instance, the id of a run or of a thread, the run of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRequest {
    pub key: String,
}

impl Message for KeyRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.key.is_empty() {
            wire::put_bytes(out, 1, self.key.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.last_checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastCheckpointRequest {
    pub key: SandboxKey,
    /// empty: any
    pub tag: String,
}

impl Message for LastCheckpointRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        wire::put_message_unless_empty(out, 1, &self.key);
        if !self.tag.is_empty() {
            wire::put_bytes(out, 2, self.tag.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key.merge(r.bytes()?)?,
                (2, 2) => self.tag = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of locks.renew and locks.release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeaseRequest {
    pub key: String,
    pub token: String,
    /// locks.renew: from now on
    pub ttl_ms: u64,
}

impl Message for LeaseRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.key.is_empty() {
            wire::put_bytes(out, 1, self.key.as_bytes());
        }
        if !self.token.is_empty() {
            wire::put_bytes(out, 2, self.token.as_bytes());
        }
        if self.ttl_ms != 0 {
            wire::put_varint(out, 3, self.ttl_ms);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key = r.string()?,
                (2, 2) => self.token = r.string()?,
                (3, 0) => self.ttl_ms = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of ledger.append: the batch is durable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerAppendReply {
    /// this identical batch had been applied before
    pub already: bool,
}

impl Message for LedgerAppendReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.already {
            wire::put_varint(out, 1, u64::from(self.already));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.already = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.append. The entries stay on the host, behind handles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerAppendRequest {
    /// batch handle
    pub entries: u64,
    /// batch handle
    pub segments: u64,
    pub entry_count: u64,
    pub segment_count: u64,
    /// bytes of text in the entries
    pub size: u64,
}

impl Message for LedgerAppendRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.entries != 0 {
            wire::put_varint(out, 1, self.entries);
        }
        if self.segments != 0 {
            wire::put_varint(out, 2, self.segments);
        }
        if self.entry_count != 0 {
            wire::put_varint(out, 3, self.entry_count);
        }
        if self.segment_count != 0 {
            wire::put_varint(out, 4, self.segment_count);
        }
        if self.size != 0 {
            wire::put_varint(out, 5, self.size);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.entries = r.varint()?,
                (2, 0) => self.segments = r.varint()?,
                (3, 0) => self.entry_count = r.varint()?,
                (4, 0) => self.segment_count = r.varint()?,
                (5, 0) => self.size = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.open, which claims a sandbox's ledger for one driver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerOpenRequest {
    pub key: SandboxKey,
}

impl Message for LedgerOpenRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        wire::put_message_unless_empty(out, 1, &self.key);
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key.merge(r.bytes()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.read. An empty key reads every sandbox's entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerReadRequest {
    pub key: SandboxKey,
    /// of the page before; empty starts at the beginning
    pub cursor: Vec<u8>,
    /// most rows; 0 lets the guest choose
    pub limit: u64,
    /// stop after the row that passes this; 0 lets the guest choose
    pub max_bytes: u64,
    /// not 0: the page is the last so many rows at most; the cursor is empty then
    pub last: u64,
}

impl Message for LedgerReadRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        wire::put_message_unless_empty(out, 1, &self.key);
        if !self.cursor.is_empty() {
            wire::put_bytes(out, 2, &self.cursor);
        }
        if self.limit != 0 {
            wire::put_varint(out, 3, self.limit);
        }
        if self.max_bytes != 0 {
            wire::put_varint(out, 4, self.max_bytes);
        }
        if self.last != 0 {
            wire::put_varint(out, 5, self.last);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key.merge(r.bytes()?)?,
                (2, 2) => self.cursor = r.bytes()?.to_vec(),
                (3, 0) => self.limit = r.varint()?,
                (4, 0) => self.max_bytes = r.varint()?,
                (5, 0) => self.last = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.list_sandboxes. What is absent or empty does not filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListSandboxesRequest {
    pub name: String,
    pub status: String,
    /// 0 lists nothing
    pub limit: Option<u64>,
    /// strictly smaller start, Unix milliseconds
    pub before: Option<i64>,
    pub run_id: String,
    pub resource_id: String,
    pub team_id: String,
    pub cursor: Vec<u8>,
    /// what the sandbox id begins with; a guest need not know it
    pub id_prefix: String,
}

impl Message for ListSandboxesRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if !self.status.is_empty() {
            wire::put_bytes(out, 2, self.status.as_bytes());
        }
        if let Some(value) = self.limit {
            wire::put_varint(out, 3, value);
        }
        if let Some(value) = self.before {
            wire::put_varint(out, 4, value as u64);
        }
        if !self.run_id.is_empty() {
            wire::put_bytes(out, 5, self.run_id.as_bytes());
        }
        if !self.resource_id.is_empty() {
            wire::put_bytes(out, 6, self.resource_id.as_bytes());
        }
        if !self.team_id.is_empty() {
            wire::put_bytes(out, 7, self.team_id.as_bytes());
        }
        if !self.cursor.is_empty() {
            wire::put_bytes(out, 8, &self.cursor);
        }
        if !self.id_prefix.is_empty() {
            wire::put_bytes(out, 9, self.id_prefix.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => self.status = r.string()?,
                (3, 0) => self.limit = Some(r.varint()?),
                (4, 0) => self.before = Some(r.varint()? as i64),
                (5, 2) => self.run_id = r.string()?,
                (6, 2) => self.resource_id = r.string()?,
                (7, 2) => self.team_id = r.string()?,
                (8, 2) => self.cursor = r.bytes()?.to_vec(),
                (9, 2) => self.id_prefix = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of locks.try_acquire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockReply {
    pub acquired: bool,
    /// when it was acquired
    pub token: String,
    /// when it was acquired: higher than any that the key had
    pub fence: u64,
    /// who holds it
    pub owner: String,
    /// how long, if it is not renewed
    pub left_ms: u64,
    /// the store's clock, Unix milliseconds
    pub now: i64,
}

impl Message for LockReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.acquired {
            wire::put_varint(out, 1, u64::from(self.acquired));
        }
        if !self.token.is_empty() {
            wire::put_bytes(out, 2, self.token.as_bytes());
        }
        if self.fence != 0 {
            wire::put_varint(out, 3, self.fence);
        }
        if !self.owner.is_empty() {
            wire::put_bytes(out, 4, self.owner.as_bytes());
        }
        if self.left_ms != 0 {
            wire::put_varint(out, 5, self.left_ms);
        }
        if self.now != 0 {
            wire::put_varint(out, 6, self.now as u64);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.acquired = r.varint()? != 0,
                (2, 2) => self.token = r.string()?,
                (3, 0) => self.fence = r.varint()?,
                (4, 2) => self.owner = r.string()?,
                (5, 0) => self.left_ms = r.varint()?,
                (6, 0) => self.now = r.varint()? as i64,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of locks.try_acquire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockRequest {
    pub key: String,
    /// shown to those who find it busy
    pub owner: String,
    pub ttl_ms: u64,
}

impl Message for LockRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.key.is_empty() {
            wire::put_bytes(out, 1, self.key.as_bytes());
        }
        if !self.owner.is_empty() {
            wire::put_bytes(out, 2, self.owner.as_bytes());
        }
        if self.ttl_ms != 0 {
            wire::put_varint(out, 3, self.ttl_ms);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key = r.string()?,
                (2, 2) => self.owner = r.string()?,
                (3, 0) => self.ttl_ms = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of log.append.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogAppendRequest {
    pub run_id: String,
    pub epoch: u64,
    /// the offset that the log must end with
    pub after: Option<u64>,
    /// batch handle; 0: no events
    pub events: u64,
    pub count: u64,
    /// bytes of data
    pub size: u64,
}

impl Message for LogAppendRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.run_id.is_empty() {
            wire::put_bytes(out, 1, self.run_id.as_bytes());
        }
        if self.epoch != 0 {
            wire::put_varint(out, 2, self.epoch);
        }
        if let Some(value) = self.after {
            wire::put_varint(out, 3, value);
        }
        if self.events != 0 {
            wire::put_varint(out, 4, self.events);
        }
        if self.count != 0 {
            wire::put_varint(out, 5, self.count);
        }
        if self.size != 0 {
            wire::put_varint(out, 6, self.size);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.run_id = r.string()?,
                (2, 0) => self.epoch = r.varint()?,
                (3, 0) => self.after = Some(r.varint()?),
                (4, 0) => self.events = r.varint()?,
                (5, 0) => self.count = r.varint()?,
                (6, 0) => self.size = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of log.read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogPage {
    /// handle of the page, or 0
    pub rows: u64,
    /// the page itself when there is no handle
    pub table: Vec<u8>,
    /// offset of the last event that was ever stored
    pub tail: u64,
    /// offset of the last event that was removed
    pub dropped: u64,
    /// highest that the log has seen
    pub epoch: u64,
    pub closed: bool,
    /// there are events behind the last row
    pub more: bool,
}

impl Message for LogPage {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.rows != 0 {
            wire::put_varint(out, 1, self.rows);
        }
        if !self.table.is_empty() {
            wire::put_bytes(out, 2, &self.table);
        }
        if self.tail != 0 {
            wire::put_varint(out, 3, self.tail);
        }
        if self.dropped != 0 {
            wire::put_varint(out, 4, self.dropped);
        }
        if self.epoch != 0 {
            wire::put_varint(out, 5, self.epoch);
        }
        if self.closed {
            wire::put_varint(out, 6, u64::from(self.closed));
        }
        if self.more {
            wire::put_varint(out, 7, u64::from(self.more));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.rows = r.varint()?,
                (2, 2) => self.table = r.bytes()?.to_vec(),
                (3, 0) => self.tail = r.varint()?,
                (4, 0) => self.dropped = r.varint()?,
                (5, 0) => self.epoch = r.varint()?,
                (6, 0) => self.closed = r.varint()? != 0,
                (7, 0) => self.more = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of log.read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogReadRequest {
    pub run_id: String,
    /// offset that the page is behind
    pub after: u64,
    /// most events; 0 lets the guest choose
    pub limit: u64,
    /// stop after the event that passes this; 0 lets the guest choose
    pub max_bytes: u64,
}

impl Message for LogReadRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.run_id.is_empty() {
            wire::put_bytes(out, 1, self.run_id.as_bytes());
        }
        if self.after != 0 {
            wire::put_varint(out, 2, self.after);
        }
        if self.limit != 0 {
            wire::put_varint(out, 3, self.limit);
        }
        if self.max_bytes != 0 {
            wire::put_varint(out, 4, self.max_bytes);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.run_id = r.string()?,
                (2, 0) => self.after = r.varint()?,
                (3, 0) => self.limit = r.varint()?,
                (4, 0) => self.max_bytes = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of log.append.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogTail {
    /// offset of the log's last event
    pub tail: u64,
}

impl Message for LogTail {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.tail != 0 {
            wire::put_varint(out, 1, self.tail);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.tail = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of describe.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    /// "ledger", …
    pub kinds: Vec<String>,
    /// optional operations that it has, by name
    pub optional: Vec<String>,
    pub capabilities: Vec<Want>,
    /// JSON Schema of [plugins.NAME.config]
    pub config_schema: String,
    pub state: u32,
}

impl Message for Manifest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if !self.version.is_empty() {
            wire::put_bytes(out, 2, self.version.as_bytes());
        }
        for element in &self.kinds {
            wire::put_bytes(out, 3, element.as_bytes());
        }
        for element in &self.optional {
            wire::put_bytes(out, 4, element.as_bytes());
        }
        for element in &self.capabilities {
            wire::put_message(out, 5, element);
        }
        if !self.config_schema.is_empty() {
            wire::put_bytes(out, 6, self.config_schema.as_bytes());
        }
        if self.state != 0 {
            wire::put_varint(out, 7, u64::from(self.state));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => self.version = r.string()?,
                (3, 2) => wire::push(&mut self.kinds, r.string()?)?,
                (4, 2) => wire::push(&mut self.optional, r.string()?)?,
                (5, 2) => wire::push(&mut self.capabilities, Message::decode(r.bytes()?)?)?,
                (6, 2) => self.config_schema = r.string()?,
                (7, 0) => self.state = r.varint()? as u32,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// One binding of a sandbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedBinding {
    pub name: String,
    pub binding: Binding,
    /// the broker can't say all of it
    pub partial: bool,
}

impl Message for NamedBinding {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        wire::put_message_unless_empty(out, 2, &self.binding);
        if self.partial {
            wire::put_varint(out, 3, u64::from(self.partial));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => self.binding.merge(r.bytes()?)?,
                (3, 0) => self.partial = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.list_heads and ledger.list_tombstones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageRequest {
    /// of the page before; empty starts at the beginning
    pub cursor: Vec<u8>,
    /// most rows; 0 lets the guest choose
    pub limit: u64,
    /// stop after the row that passes this; 0 lets the guest choose
    pub max_bytes: u64,
}

impl Message for PageRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.cursor.is_empty() {
            wire::put_bytes(out, 1, &self.cursor);
        }
        if self.limit != 0 {
            wire::put_varint(out, 2, self.limit);
        }
        if self.max_bytes != 0 {
            wire::put_varint(out, 3, self.max_bytes);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.cursor = r.bytes()?.to_vec(),
                (2, 0) => self.limit = r.varint()?,
                (3, 0) => self.max_bytes = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of runs.list_reclaimable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReclaimRequest {
    /// "running" or "interrupted"
    pub status: String,
    pub ttl_ms: u64,
    /// what to reckon from, Unix milliseconds; 0: the store's clock
    pub now: i64,
    /// of the page before; empty starts at the beginning
    pub cursor: Vec<u8>,
    /// most rows; 0 lets the guest choose
    pub limit: u64,
}

impl Message for ReclaimRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.status.is_empty() {
            wire::put_bytes(out, 1, self.status.as_bytes());
        }
        if self.ttl_ms != 0 {
            wire::put_varint(out, 2, self.ttl_ms);
        }
        if self.now != 0 {
            wire::put_varint(out, 3, self.now as u64);
        }
        if !self.cursor.is_empty() {
            wire::put_bytes(out, 4, &self.cursor);
        }
        if self.limit != 0 {
            wire::put_varint(out, 5, self.limit);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.status = r.string()?,
                (2, 0) => self.ttl_ms = r.varint()?,
                (3, 0) => self.now = r.varint()? as i64,
                (4, 2) => self.cursor = r.bytes()?.to_vec(),
                (5, 0) => self.limit = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// The envelope of every request from the host to a guest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// unique within the host's life
    pub call_id: u64,
    /// milliseconds left when the call was made; 0 is none
    pub deadline_ms: u64,
    /// W3C trace context, or empty
    pub traceparent: String,
    /// the operation's own message
    pub body: Vec<u8>,
}

impl Message for Request {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.call_id != 0 {
            wire::put_varint(out, 1, self.call_id);
        }
        if self.deadline_ms != 0 {
            wire::put_varint(out, 2, self.deadline_ms);
        }
        if !self.traceparent.is_empty() {
            wire::put_bytes(out, 3, self.traceparent.as_bytes());
        }
        if !self.body.is_empty() {
            wire::put_bytes(out, 4, &self.body);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.call_id = r.varint()?,
                (2, 0) => self.deadline_ms = r.varint()?,
                (3, 2) => self.traceparent = r.string()?,
                (4, 2) => self.body = r.bytes()?.to_vec(),
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// A page of rows: behind a handle when rows is not 0, else in table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowsReply {
    pub rows: u64,
    pub table: Vec<u8>,
    /// where the next page starts, opaque
    pub cursor: Vec<u8>,
    pub more: bool,
    /// the store's clock, Unix milliseconds, of operations that tell it
    pub now: i64,
}

impl Message for RowsReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.rows != 0 {
            wire::put_varint(out, 1, self.rows);
        }
        if !self.table.is_empty() {
            wire::put_bytes(out, 2, &self.table);
        }
        if !self.cursor.is_empty() {
            wire::put_bytes(out, 3, &self.cursor);
        }
        if self.more {
            wire::put_varint(out, 4, u64::from(self.more));
        }
        if self.now != 0 {
            wire::put_varint(out, 5, self.now as u64);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.rows = r.varint()?,
                (2, 2) => self.table = r.bytes()?.to_vec(),
                (3, 2) => self.cursor = r.bytes()?.to_vec(),
                (4, 0) => self.more = r.varint()? != 0,
                (5, 0) => self.now = r.varint()? as i64,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of runs.create_or_get.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunCreate {
    pub run_id: String,
    pub thread_id: String,
    pub status: String,
    /// Unix milliseconds; absent: the store's clock
    pub started_at: Option<i64>,
    pub sandbox_key: Option<String>,
    /// only runs.secret gives it out
    pub secret: Vec<u8>,
}

impl Message for RunCreate {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.run_id.is_empty() {
            wire::put_bytes(out, 1, self.run_id.as_bytes());
        }
        if !self.thread_id.is_empty() {
            wire::put_bytes(out, 2, self.thread_id.as_bytes());
        }
        if !self.status.is_empty() {
            wire::put_bytes(out, 3, self.status.as_bytes());
        }
        if let Some(value) = self.started_at {
            wire::put_varint(out, 4, value as u64);
        }
        if let Some(value) = &self.sandbox_key {
            wire::put_bytes(out, 5, value.as_bytes());
        }
        if !self.secret.is_empty() {
            wire::put_bytes(out, 6, &self.secret);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.run_id = r.string()?,
                (2, 2) => self.thread_id = r.string()?,
                (3, 2) => self.status = r.string()?,
                (4, 0) => self.started_at = Some(r.varint()? as i64),
                (5, 2) => self.sandbox_key = Some(r.string()?),
                (6, 2) => self.secret = r.bytes()?.to_vec(),
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of runs.list_by_thread and runs.list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunListRequest {
    pub thread_id: String,
    pub status: String,
    /// strictly, Unix milliseconds
    pub finished_before: Option<i64>,
    /// of the page before; empty starts at the beginning
    pub cursor: Vec<u8>,
    /// most rows; 0 lets the guest choose
    pub limit: u64,
}

impl Message for RunListRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.thread_id.is_empty() {
            wire::put_bytes(out, 1, self.thread_id.as_bytes());
        }
        if !self.status.is_empty() {
            wire::put_bytes(out, 2, self.status.as_bytes());
        }
        if let Some(value) = self.finished_before {
            wire::put_varint(out, 3, value as u64);
        }
        if !self.cursor.is_empty() {
            wire::put_bytes(out, 4, &self.cursor);
        }
        if self.limit != 0 {
            wire::put_varint(out, 5, self.limit);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.thread_id = r.string()?,
                (2, 2) => self.status = r.string()?,
                (3, 0) => self.finished_before = Some(r.varint()? as i64),
                (4, 2) => self.cursor = r.bytes()?.to_vec(),
                (5, 0) => self.limit = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of runs.patch and runs.patch_if.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunPatch {
    pub run_id: String,
    /// runs.patch_if: only a run of this driver epoch that has not ended
    pub epoch: Option<u64>,
    pub status: Option<String>,
    pub finished_at: Option<i64>,
    /// with it the error is replaced, code and all
    pub error_message: Option<String>,
    pub error_code: Option<String>,
    /// JSON
    pub usage: Vec<u8>,
    pub sandbox_key: Option<String>,
    pub detached_since: Option<i64>,
    pub cancel_requested: Option<bool>,
    pub driver_epoch: Option<u64>,
    /// names of fields that become absent
    pub clear: Vec<String>,
    /// names of fields that get the time of the store's clock
    pub now: Vec<String>,
}

impl Message for RunPatch {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.run_id.is_empty() {
            wire::put_bytes(out, 1, self.run_id.as_bytes());
        }
        if let Some(value) = self.epoch {
            wire::put_varint(out, 2, value);
        }
        if let Some(value) = &self.status {
            wire::put_bytes(out, 3, value.as_bytes());
        }
        if let Some(value) = self.finished_at {
            wire::put_varint(out, 4, value as u64);
        }
        if let Some(value) = &self.error_message {
            wire::put_bytes(out, 5, value.as_bytes());
        }
        if let Some(value) = &self.error_code {
            wire::put_bytes(out, 6, value.as_bytes());
        }
        if !self.usage.is_empty() {
            wire::put_bytes(out, 7, &self.usage);
        }
        if let Some(value) = &self.sandbox_key {
            wire::put_bytes(out, 8, value.as_bytes());
        }
        if let Some(value) = self.detached_since {
            wire::put_varint(out, 9, value as u64);
        }
        if let Some(value) = self.cancel_requested {
            wire::put_varint(out, 10, u64::from(value));
        }
        if let Some(value) = self.driver_epoch {
            wire::put_varint(out, 11, value);
        }
        for element in &self.clear {
            wire::put_bytes(out, 12, element.as_bytes());
        }
        for element in &self.now {
            wire::put_bytes(out, 13, element.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.run_id = r.string()?,
                (2, 0) => self.epoch = Some(r.varint()?),
                (3, 2) => self.status = Some(r.string()?),
                (4, 0) => self.finished_at = Some(r.varint()? as i64),
                (5, 2) => self.error_message = Some(r.string()?),
                (6, 2) => self.error_code = Some(r.string()?),
                (7, 2) => self.usage = r.bytes()?.to_vec(),
                (8, 2) => self.sandbox_key = Some(r.string()?),
                (9, 0) => self.detached_since = Some(r.varint()? as i64),
                (10, 0) => self.cancel_requested = Some(r.varint()? != 0),
                (11, 0) => self.driver_epoch = Some(r.varint()?),
                (12, 2) => wire::push(&mut self.clear, r.string()?)?,
                (13, 2) => wire::push(&mut self.now, r.string()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of operations on one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReply {
    pub outcome: u32,
    /// handle of a page of one row, or 0
    pub rows: u64,
    /// the page itself when there is no handle
    pub table: Vec<u8>,
}

impl Message for RunReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.outcome != 0 {
            wire::put_varint(out, 1, u64::from(self.outcome));
        }
        if self.rows != 0 {
            wire::put_varint(out, 2, self.rows);
        }
        if !self.table.is_empty() {
            wire::put_bytes(out, 3, &self.table);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.outcome = r.varint()? as u32,
                (2, 0) => self.rows = r.varint()?,
                (3, 2) => self.table = r.bytes()?.to_vec(),
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of runs.secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSecret {
    /// empty: there is none
    pub secret: Vec<u8>,
}

impl Message for RunSecret {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.secret.is_empty() {
            wire::put_bytes(out, 1, &self.secret);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.secret = r.bytes()?.to_vec(),
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of sql.exec: a program, whose steps run in order in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SQLExec {
    /// a granted database, by name
    pub database: String,
    pub read_only: bool,
    /// at most 4,096, with 65,536 parameters in all of them together
    pub steps: Vec<SQLStep>,
}

impl Message for SQLExec {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.database.is_empty() {
            wire::put_bytes(out, 1, self.database.as_bytes());
        }
        if self.read_only {
            wire::put_varint(out, 2, u64::from(self.read_only));
        }
        for element in &self.steps {
            wire::put_message(out, 3, element);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.database = r.string()?,
                (2, 0) => self.read_only = r.varint()? != 0,
                (3, 2) => wire::push(&mut self.steps, Message::decode(r.bytes()?)?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of sql.exec: one result a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SQLExecReply {
    pub steps: Vec<SQLStepResult>,
}

impl Message for SQLExecReply {
    fn encode(&self, out: &mut Vec<u8>) {
        for element in &self.steps {
            wire::put_message(out, 1, element);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => wire::push(&mut self.steps, Message::decode(r.bytes()?)?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// One bound value, in the statement's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SQLParam {
    pub kind: u32,
    /// literal: exactly one tagged value as in a table; empty is null
    pub value: Value,
    /// column and result
    pub column: u32,
    /// result
    pub step: u32,
}

impl Message for SQLParam {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.kind != 0 {
            wire::put_varint(out, 1, u64::from(self.kind));
        }
        wire::put_value(out, 2, &self.value);
        if self.column != 0 {
            wire::put_varint(out, 3, u64::from(self.column));
        }
        if self.step != 0 {
            wire::put_varint(out, 4, u64::from(self.step));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.kind = r.varint()? as u32,
                (2, 2) => self.value = wire::value(r.bytes()?)?,
                (3, 0) => self.column = r.varint()? as u32,
                (4, 0) => self.step = r.varint()? as u32,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// One statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SQLStep {
    pub sql: String,
    pub params: Vec<SQLParam>,
    /// 0: run once; else a handle: run for each of its rows
    pub batch: u64,
    /// the same statement for many_rows rows at once; optional
    pub many_sql: String,
    pub many_rows: u64,
    /// rows that each run must change, or return when it returns rows
    pub expect: Option<u64>,
    /// when expect is not met; conflict when 0
    pub mismatch_code: u32,
    pub mismatch_message: String,
    pub result: u32,
    /// 0: no bound but the host's
    pub max_rows: u64,
    /// stop after the row that passes this; 0: no bound but the host's
    pub max_bytes: u64,
}

impl Message for SQLStep {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.sql.is_empty() {
            wire::put_bytes(out, 1, self.sql.as_bytes());
        }
        for element in &self.params {
            wire::put_message(out, 2, element);
        }
        if self.batch != 0 {
            wire::put_varint(out, 3, self.batch);
        }
        if !self.many_sql.is_empty() {
            wire::put_bytes(out, 4, self.many_sql.as_bytes());
        }
        if self.many_rows != 0 {
            wire::put_varint(out, 5, self.many_rows);
        }
        if let Some(value) = self.expect {
            wire::put_varint(out, 6, value);
        }
        if self.mismatch_code != 0 {
            wire::put_varint(out, 7, u64::from(self.mismatch_code));
        }
        if !self.mismatch_message.is_empty() {
            wire::put_bytes(out, 8, self.mismatch_message.as_bytes());
        }
        if self.result != 0 {
            wire::put_varint(out, 9, u64::from(self.result));
        }
        if self.max_rows != 0 {
            wire::put_varint(out, 10, self.max_rows);
        }
        if self.max_bytes != 0 {
            wire::put_varint(out, 11, self.max_bytes);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.sql = r.string()?,
                (2, 2) => wire::push(&mut self.params, Message::decode(r.bytes()?)?)?,
                (3, 0) => self.batch = r.varint()?,
                (4, 2) => self.many_sql = r.string()?,
                (5, 0) => self.many_rows = r.varint()?,
                (6, 0) => self.expect = Some(r.varint()?),
                (7, 0) => self.mismatch_code = r.varint()? as u32,
                (8, 2) => self.mismatch_message = r.string()?,
                (9, 0) => self.result = r.varint()? as u32,
                (10, 0) => self.max_rows = r.varint()?,
                (11, 0) => self.max_bytes = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// What a step did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SQLStepResult {
    /// rows inserted, changed or deleted, over all runs
    pub affected: u64,
    /// rows kept
    pub row_count: u64,
    /// inline: a table
    pub rows: Vec<u8>,
    /// handle
    pub handle: u64,
    /// handle: the last row kept, as a table of one row
    pub last: Vec<u8>,
    /// a bound ended the rows before the statement did
    pub more: bool,
}

impl Message for SQLStepResult {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.affected != 0 {
            wire::put_varint(out, 1, self.affected);
        }
        if self.row_count != 0 {
            wire::put_varint(out, 2, self.row_count);
        }
        if !self.rows.is_empty() {
            wire::put_bytes(out, 3, &self.rows);
        }
        if self.handle != 0 {
            wire::put_varint(out, 4, self.handle);
        }
        if !self.last.is_empty() {
            wire::put_bytes(out, 5, &self.last);
        }
        if self.more {
            wire::put_varint(out, 6, u64::from(self.more));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.affected = r.varint()?,
                (2, 0) => self.row_count = r.varint()?,
                (3, 2) => self.rows = r.bytes()?.to_vec(),
                (4, 0) => self.handle = r.varint()?,
                (5, 2) => self.last = r.bytes()?.to_vec(),
                (6, 0) => self.more = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of runs.count_by_sandbox.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxCountRequest {
    pub sandbox_key: String,
    /// a run that does not count
    pub except: String,
}

impl Message for SandboxCountRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.sandbox_key.is_empty() {
            wire::put_bytes(out, 1, self.sandbox_key.as_bytes());
        }
        if !self.except.is_empty() {
            wire::put_bytes(out, 2, self.except.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.sandbox_key = r.string()?,
                (2, 2) => self.except = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Names one sandbox's ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxKey {
    pub name: String,
    pub sandbox_id: String,
}

impl Message for SandboxKey {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if !self.sandbox_id.is_empty() {
            wire::put_bytes(out, 2, self.sandbox_id.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => self.sandbox_id = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.list_checkpoints and ledger.list_segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxPageRequest {
    pub key: SandboxKey,
    /// of the page before; empty starts at the beginning
    pub cursor: Vec<u8>,
    /// most rows; 0 lets the guest choose
    pub limit: u64,
    /// stop after the row that passes this; 0 lets the guest choose
    pub max_bytes: u64,
}

impl Message for SandboxPageRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        wire::put_message_unless_empty(out, 1, &self.key);
        if !self.cursor.is_empty() {
            wire::put_bytes(out, 2, &self.cursor);
        }
        if self.limit != 0 {
            wire::put_varint(out, 3, self.limit);
        }
        if self.max_bytes != 0 {
            wire::put_varint(out, 4, self.max_bytes);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key.merge(r.bytes()?)?,
                (2, 2) => self.cursor = r.bytes()?.to_vec(),
                (3, 0) => self.limit = r.varint()?,
                (4, 0) => self.max_bytes = r.varint()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of ledger.get_sandbox, ledger.delete_sandbox and ledger.usage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxRequest {
    pub key: SandboxKey,
}

impl Message for SandboxRequest {
    fn encode(&self, out: &mut Vec<u8>) {
        wire::put_message_unless_empty(out, 1, &self.key);
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.key.merge(r.bytes()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of secret.get.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecretGet {
    pub name: String,
    /// one that secret.keep kept
    pub kept: bool,
}

impl Message for SecretGet {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if self.kept {
            wire::put_varint(out, 2, u64::from(self.kept));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 0) => self.kept = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Request of secret.keep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecretKeep {
    pub name: String,
    /// handle; 0 forgets
    pub secret: u64,
    /// 0: until the plugin ends
    pub ttl_ms: u64,
    /// nothing secret
    pub note: Vec<u8>,
}

impl Message for SecretKeep {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if self.secret != 0 {
            wire::put_varint(out, 2, self.secret);
        }
        if self.ttl_ms != 0 {
            wire::put_varint(out, 3, self.ttl_ms);
        }
        if !self.note.is_empty() {
            wire::put_bytes(out, 4, &self.note);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 0) => self.secret = r.varint()?,
                (3, 0) => self.ttl_ms = r.varint()?,
                (4, 2) => self.note = r.bytes()?.to_vec(),
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of secret.get.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecretReply {
    /// handle
    pub secret: u64,
    /// another number when the value is another
    pub version: u64,
    /// of a kept one: what is left; 0: no end
    pub expires_ms: u64,
    /// of a kept one
    pub note: Vec<u8>,
}

impl Message for SecretReply {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.secret != 0 {
            wire::put_varint(out, 1, self.secret);
        }
        if self.version != 0 {
            wire::put_varint(out, 2, self.version);
        }
        if self.expires_ms != 0 {
            wire::put_varint(out, 3, self.expires_ms);
        }
        if !self.note.is_empty() {
            wire::put_bytes(out, 4, &self.note);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.secret = r.varint()?,
                (2, 0) => self.version = r.varint()?,
                (3, 0) => self.expires_ms = r.varint()?,
                (4, 2) => self.note = r.bytes()?.to_vec(),
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Where a credential's value comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// "env" or "external"; empty is "external"
    pub r#type: String,
    /// env
    pub var_name: String,
    /// external: in the broker's own words
    pub r#ref: String,
}

impl Message for Source {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.r#type.is_empty() {
            wire::put_bytes(out, 1, self.r#type.as_bytes());
        }
        if !self.var_name.is_empty() {
            wire::put_bytes(out, 2, self.var_name.as_bytes());
        }
        if !self.r#ref.is_empty() {
            wire::put_bytes(out, 3, self.r#ref.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.r#type = r.string()?,
                (2, 2) => self.var_name = r.string()?,
                (3, 2) => self.r#ref = r.string()?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of ledger.stats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// -1 when it can't be told cheaply
    pub entries: i64,
    /// on disk, with indexes and free space; -1 when unknown
    pub storage_bytes: i64,
    pub schema_version: i64,
}

impl Message for Stats {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.entries != 0 {
            wire::put_varint(out, 1, wire::zigzag(self.entries));
        }
        if self.storage_bytes != 0 {
            wire::put_varint(out, 2, wire::zigzag(self.storage_bytes));
        }
        if self.schema_version != 0 {
            wire::put_varint(out, 3, self.schema_version as u64);
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.entries = wire::unzigzag(r.varint()?),
                (2, 0) => self.storage_bytes = wire::unzigzag(r.varint()?),
                (3, 0) => self.schema_version = r.varint()? as i64,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Puts the value in the place of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Substitution {
    pub placeholder: String,
    /// path, query, header, body
    pub r#in: Vec<String>,
}

impl Message for Substitution {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.placeholder.is_empty() {
            wire::put_bytes(out, 1, self.placeholder.as_bytes());
        }
        for element in &self.r#in {
            wire::put_bytes(out, 2, element.as_bytes());
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.placeholder = r.string()?,
                (2, 2) => wire::push(&mut self.r#in, r.string()?)?,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Reply of ledger.usage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    pub entries: u64,
    /// of payloads and errors as text
    pub bytes: u64,
    /// Unix milliseconds, 0 without entries
    pub first_ts: i64,
    pub last_ts: i64,
    /// it has sandbox.created
    pub created: bool,
    /// it has sandbox.closed
    pub closed: bool,
}

impl Message for Usage {
    fn encode(&self, out: &mut Vec<u8>) {
        if self.entries != 0 {
            wire::put_varint(out, 1, self.entries);
        }
        if self.bytes != 0 {
            wire::put_varint(out, 2, self.bytes);
        }
        if self.first_ts != 0 {
            wire::put_varint(out, 3, self.first_ts as u64);
        }
        if self.last_ts != 0 {
            wire::put_varint(out, 4, self.last_ts as u64);
        }
        if self.created {
            wire::put_varint(out, 5, u64::from(self.created));
        }
        if self.closed {
            wire::put_varint(out, 6, u64::from(self.closed));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 0) => self.entries = r.varint()?,
                (2, 0) => self.bytes = r.varint()?,
                (3, 0) => self.first_ts = r.varint()? as i64,
                (4, 0) => self.last_ts = r.varint()? as i64,
                (5, 0) => self.created = r.varint()? != 0,
                (6, 0) => self.closed = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// A capability that a guest asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Want {
    /// "sql", …
    pub name: String,
    /// what of it: for sql the name of a database
    pub resource: String,
    /// shown to the operator
    pub reason: String,
    /// the guest does without when it is not granted
    pub optional: bool,
}

impl Message for Want {
    fn encode(&self, out: &mut Vec<u8>) {
        if !self.name.is_empty() {
            wire::put_bytes(out, 1, self.name.as_bytes());
        }
        if !self.resource.is_empty() {
            wire::put_bytes(out, 2, self.resource.as_bytes());
        }
        if !self.reason.is_empty() {
            wire::put_bytes(out, 3, self.reason.as_bytes());
        }
        if self.optional {
            wire::put_varint(out, 4, u64::from(self.optional));
        }
    }

    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut r = Reader::new(bytes);
        while let Some((number, wire_type)) = r.tag()? {
            match (number, wire_type) {
                (1, 2) => self.name = r.string()?,
                (2, 2) => self.resource = r.string()?,
                (3, 2) => self.reason = r.string()?,
                (4, 0) => self.optional = r.varint()? != 0,
                _ => r.skip(wire_type)?,
            }
        }
        Ok(())
    }
}

/// Decodes a message by its name and encodes it again, for tests with the golden vectors. None is a name that
/// this version has not.
pub fn recode(name: &str, bytes: &[u8]) -> Option<Result<Vec<u8>, Malformed>> {
    match name {
        "Applied" => Some(wire::recode::<Applied>(bytes)),
        "AuthHeader" => Some(wire::recode::<AuthHeader>(bytes)),
        "BatchBytes" => Some(wire::recode::<BatchBytes>(bytes)),
        "BatchCell" => Some(wire::recode::<BatchCell>(bytes)),
        "BatchRead" => Some(wire::recode::<BatchRead>(bytes)),
        "BatchRows" => Some(wire::recode::<BatchRows>(bytes)),
        "Binding" => Some(wire::recode::<Binding>(bytes)),
        "BrokerListReply" => Some(wire::recode::<BrokerListReply>(bytes)),
        "BrokerListRequest" => Some(wire::recode::<BrokerListRequest>(bytes)),
        "BrokerPatchRequest" => Some(wire::recode::<BrokerPatchRequest>(bytes)),
        "BrokerRemoveRequest" => Some(wire::recode::<BrokerRemoveRequest>(bytes)),
        "BrokerResolveReply" => Some(wire::recode::<BrokerResolveReply>(bytes)),
        "BrokerResolveRequest" => Some(wire::recode::<BrokerResolveRequest>(bytes)),
        "BrokerSetRequest" => Some(wire::recode::<BrokerSetRequest>(bytes)),
        "ConfigureReply" => Some(wire::recode::<ConfigureReply>(bytes)),
        "ConfigureRequest" => Some(wire::recode::<ConfigureRequest>(bytes)),
        "Count" => Some(wire::recode::<Count>(bytes)),
        "DeleteReply" => Some(wire::recode::<DeleteReply>(bytes)),
        "Diagnostic" => Some(wire::recode::<Diagnostic>(bytes)),
        "Empty" => Some(wire::recode::<Empty>(bytes)),
        "Environment" => Some(wire::recode::<Environment>(bytes)),
        "EnvironmentRequest" => Some(wire::recode::<EnvironmentRequest>(bytes)),
        "Error" => Some(wire::recode::<Error>(bytes)),
        "FindSandboxRequest" => Some(wire::recode::<FindSandboxRequest>(bytes)),
        "HTTPField" => Some(wire::recode::<HTTPField>(bytes)),
        "HTTPHeader" => Some(wire::recode::<HTTPHeader>(bytes)),
        "HTTPPart" => Some(wire::recode::<HTTPPart>(bytes)),
        "HTTPReply" => Some(wire::recode::<HTTPReply>(bytes)),
        "HTTPRequest" => Some(wire::recode::<HTTPRequest>(bytes)),
        "Head" => Some(wire::recode::<Head>(bytes)),
        "HealthReply" => Some(wire::recode::<HealthReply>(bytes)),
        "Instance" => Some(wire::recode::<Instance>(bytes)),
        "InstanceDeleteIf" => Some(wire::recode::<InstanceDeleteIf>(bytes)),
        "InstanceListRequest" => Some(wire::recode::<InstanceListRequest>(bytes)),
        "InstancePutIf" => Some(wire::recode::<InstancePutIf>(bytes)),
        "KeyRequest" => Some(wire::recode::<KeyRequest>(bytes)),
        "LastCheckpointRequest" => Some(wire::recode::<LastCheckpointRequest>(bytes)),
        "LeaseRequest" => Some(wire::recode::<LeaseRequest>(bytes)),
        "LedgerAppendReply" => Some(wire::recode::<LedgerAppendReply>(bytes)),
        "LedgerAppendRequest" => Some(wire::recode::<LedgerAppendRequest>(bytes)),
        "LedgerOpenRequest" => Some(wire::recode::<LedgerOpenRequest>(bytes)),
        "LedgerReadRequest" => Some(wire::recode::<LedgerReadRequest>(bytes)),
        "ListSandboxesRequest" => Some(wire::recode::<ListSandboxesRequest>(bytes)),
        "LockReply" => Some(wire::recode::<LockReply>(bytes)),
        "LockRequest" => Some(wire::recode::<LockRequest>(bytes)),
        "LogAppendRequest" => Some(wire::recode::<LogAppendRequest>(bytes)),
        "LogPage" => Some(wire::recode::<LogPage>(bytes)),
        "LogReadRequest" => Some(wire::recode::<LogReadRequest>(bytes)),
        "LogTail" => Some(wire::recode::<LogTail>(bytes)),
        "Manifest" => Some(wire::recode::<Manifest>(bytes)),
        "NamedBinding" => Some(wire::recode::<NamedBinding>(bytes)),
        "PageRequest" => Some(wire::recode::<PageRequest>(bytes)),
        "ReclaimRequest" => Some(wire::recode::<ReclaimRequest>(bytes)),
        "Request" => Some(wire::recode::<Request>(bytes)),
        "RowsReply" => Some(wire::recode::<RowsReply>(bytes)),
        "RunCreate" => Some(wire::recode::<RunCreate>(bytes)),
        "RunListRequest" => Some(wire::recode::<RunListRequest>(bytes)),
        "RunPatch" => Some(wire::recode::<RunPatch>(bytes)),
        "RunReply" => Some(wire::recode::<RunReply>(bytes)),
        "RunSecret" => Some(wire::recode::<RunSecret>(bytes)),
        "SQLExec" => Some(wire::recode::<SQLExec>(bytes)),
        "SQLExecReply" => Some(wire::recode::<SQLExecReply>(bytes)),
        "SQLParam" => Some(wire::recode::<SQLParam>(bytes)),
        "SQLStep" => Some(wire::recode::<SQLStep>(bytes)),
        "SQLStepResult" => Some(wire::recode::<SQLStepResult>(bytes)),
        "SandboxCountRequest" => Some(wire::recode::<SandboxCountRequest>(bytes)),
        "SandboxKey" => Some(wire::recode::<SandboxKey>(bytes)),
        "SandboxPageRequest" => Some(wire::recode::<SandboxPageRequest>(bytes)),
        "SandboxRequest" => Some(wire::recode::<SandboxRequest>(bytes)),
        "SecretGet" => Some(wire::recode::<SecretGet>(bytes)),
        "SecretKeep" => Some(wire::recode::<SecretKeep>(bytes)),
        "SecretReply" => Some(wire::recode::<SecretReply>(bytes)),
        "Source" => Some(wire::recode::<Source>(bytes)),
        "Stats" => Some(wire::recode::<Stats>(bytes)),
        "Substitution" => Some(wire::recode::<Substitution>(bytes)),
        "Usage" => Some(wire::recode::<Usage>(bytes)),
        "Want" => Some(wire::recode::<Want>(bytes)),
        _ => None,
    }
}
