//! The guest's side of a call: its buffers, frames, and the functions that `plugin!` exports.

use crate::error::Error;
use crate::host::{log, Level};
use crate::messages::Request;
use crate::ops::{dispatch, Plugin};
use crate::wire::Message;
use std::cell::RefCell;

/// Buffers that a large call has grown beyond this are given back, in bytes.
const KEEP: usize = 1 << 20;

/// One instance of a plugin with the buffers that every call uses again.
pub struct Guest<P> {
    state: RefCell<State<P>>,
}

struct State<P> {
    plugin: Option<P>,
    request: Vec<u8>,
    response: Vec<u8>,
}

// SAFETY: an instance has one thread, and the host makes one call at a time.
unsafe impl<P> Sync for Guest<P> {}

impl<P: Plugin> Guest<P> {
    /// An instance whose plugin is made by its first call.
    pub const fn new() -> Self {
        Guest { state: RefCell::new(State { plugin: None, request: Vec::new(), response: Vec::new() }) }
    }

    /// Where the host writes the next request.
    pub fn buffer(&self, size: usize) -> *mut u8 {
        let mut state = self.state.borrow_mut();
        let buffer = &mut state.request;
        if buffer.len() < size || buffer.len() > KEEP && size <= KEEP {
            *buffer = vec![0; size.max(4096)];
        }
        buffer.as_mut_ptr()
    }

    /// Answers the request in the buffer. The result is the frame's address and length.
    pub fn call(&self, op: u32, size: usize, make: fn() -> P) -> u64 {
        let mut state = self.state.borrow_mut();
        let State { plugin, request, response } = &mut *state;
        if plugin.is_none() {
            std::panic::set_hook(Box::new(|info| log(Level::Error, &info.to_string())));
        }
        let plugin = plugin.get_or_insert_with(make);
        if response.capacity() > KEEP {
            *response = Vec::new();
        }
        response.clear();
        response.push(0);
        let result = match request.get(..size) {
            None => Err(Error::invalid("the request is longer than the buffer")),
            Some(bytes) => Request::decode(bytes)
                .map_err(Error::from)
                .and_then(|envelope| dispatch(plugin, op, &envelope.body, response)),
        };
        if let Err(error) = result {
            response.clear();
            response.push(1);
            error.encode(response);
        }
        (response.as_ptr() as usize as u64) << 32 | response.len() as u64
    }
}

impl<P: Plugin> Default for Guest<P> {
    fn default() -> Self {
        Guest::new()
    }
}

/// Makes a type the plugin that this module is: `plugin!(Type, Type::new)`. The second part makes its one
/// value, at the first call.
#[macro_export]
macro_rules! plugin {
    ($type:ty, $make:expr) => {
        static ALINEO_GUEST: $crate::guest::Guest<$type> = $crate::guest::Guest::new();

        #[no_mangle]
        pub extern "C" fn alineo_abi_v1() {}

        #[no_mangle]
        pub extern "C" fn alineo_buffer(size: usize) -> *mut u8 {
            ALINEO_GUEST.buffer(size)
        }

        #[no_mangle]
        pub extern "C" fn alineo_call(op: u32, size: usize) -> u64 {
            ALINEO_GUEST.call(op, size, $make)
        }
    };
}
