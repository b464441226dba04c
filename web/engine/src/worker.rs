//! The connection of an engine to its Web Worker. `web/engine/engine.js` loads the program of an
//! engine and calls these functions.

/// Exports the engine of the world `$world`. Its deferred code becomes a separate module if the
/// build of the page splits the program.
#[macro_export]
macro_rules! export_world {
    ($world:ty) => {
        #[cfg(split)]
        #[wasm_split_helpers::wasm_split(deferred, fallible)]
        fn fetch_deferred()
        -> Result<$crate::Deferred<$world>, wasm_split_helpers::SplitLoaderError> {
            Ok($crate::Deferred::new())
        }

        #[cfg(not(split))]
        async fn fetch_deferred()
        -> Result<$crate::Deferred<$world>, wasm_split_helpers::SplitLoaderError> {
            Ok($crate::Deferred::new())
        }

        fn engine() -> $crate::Engine<$world> {
            $crate::Engine::with_fetch(|| Box::pin(async { fetch_deferred().await.ok() }))
        }

        $crate::export_engine!($crate::Engine<$world>, engine());
    };
}

/// Exports the engine `$new` of type `$engine`: `handle` processes a message, and `work` continues to
/// play for some milliseconds. Both pass encoded replies to `send`.
#[macro_export]
macro_rules! export_engine {
    ($engine:ty, $new:expr) => {
        thread_local! {
            static ENGINE: std::cell::RefCell<$engine> = std::cell::RefCell::new($new);
        }

        /// Handles an encoded message.
        #[wasm_bindgen::prelude::wasm_bindgen]
        pub fn handle(message: &[u8], send: &js_sys::Function) {
            ENGINE.with_borrow_mut(|engine| $crate::worker::handle(engine, message, send));
        }

        /// Handles a file that the engine asked for.
        #[wasm_bindgen::prelude::wasm_bindgen]
        pub fn file(path: String, bytes: Vec<u8>, send: &js_sys::Function) {
            ENGINE.with_borrow_mut(|engine| $crate::worker::file(engine, path, Ok(bytes), send));
        }

        /// Handles the reason why a file that the engine asked for is missing.
        #[wasm_bindgen::prelude::wasm_bindgen]
        pub fn file_failed(path: String, reason: String, send: &js_sys::Function) {
            ENGINE.with_borrow_mut(|engine| $crate::worker::file(engine, path, Err(reason), send));
        }

        /// Works for at most `milliseconds`; returns after how many milliseconds to call it again,
        /// or a negative number if nothing is left to do.
        #[wasm_bindgen::prelude::wasm_bindgen]
        pub fn work(milliseconds: f64, send: &js_sys::Function) -> i32 {
            ENGINE.with_borrow_mut(|engine| $crate::worker::work(engine, milliseconds, send))
        }

        fn main() {}
    };
}

use js_sys::{Date, Function, Uint8Array};
use sentinel_page_protocol::{Reply, Request, decode};
use wasm_bindgen::JsValue;

use crate::run::encoded;

/// Pause before an engine asks again whether a part of its program has arrived, in milliseconds.
const LOADING_MS: i32 = 20;

/// An engine: it handles messages, works in slices, and replies.
pub trait Program {
    /// Handles a message. [`Program::next_reply`] returns the answers, some only after
    /// [`Program::work`].
    fn handle(&mut self, request: Request);
    /// Works until `is_time_up` returns `true`; returns `true` if anything is left to do.
    fn work(&mut self, is_time_up: impl FnMut() -> bool) -> bool;
    /// Returns `true` while a part of the program is being fetched, for which requests wait.
    fn is_loading(&self) -> bool {
        false
    }
    /// Returns the next answer; `None` if all have been returned.
    fn next_reply(&mut self) -> Option<Reply>;
}

/// Handles an encoded message and sends the replies that are ready.
pub fn handle(engine: &mut impl Program, message: &[u8], send: &Function) {
    match decode(message) {
        Ok(request) => engine.handle(request),
        Err(_) => send_reply(
            send,
            &Reply::Problem(
                "The page and its engine have different versions. Reload the page.".to_owned(),
            ),
        ),
    }
    send_all(engine, send);
}

/// Handles a file that the engine asked for, or the reason why it is missing.
pub fn file(
    engine: &mut impl Program,
    name: String,
    content: Result<Vec<u8>, String>,
    send: &Function,
) {
    engine.handle(Request::File {
        name,
        content,
        dropped: false,
    });
    send_all(engine, send);
}

/// Works for at most `milliseconds` and sends the replies. Returns after how many milliseconds to call
/// it again, or a negative number if nothing is left to do.
pub fn work(engine: &mut impl Program, milliseconds: f64, send: &Function) -> i32 {
    let end = Date::now() + milliseconds;
    let left = engine.work(|| Date::now() >= end);
    send_all(engine, send);
    pause(left, engine.is_loading())
}

/// Returns the pause before the next slice in milliseconds; negative if none is needed.
const fn pause(is_work_left: bool, is_loading: bool) -> i32 {
    match (is_work_left, is_loading) {
        (true, _) => 0,
        (false, true) => LOADING_MS,
        (false, false) => -1,
    }
}

fn send_all(engine: &mut impl Program, send: &Function) {
    while let Some(reply) = engine.next_reply() {
        send_reply(send, &reply);
    }
}

fn send_reply(send: &Function, reply: &Reply) {
    let path = match reply {
        Reply::Need(path) => JsValue::from_str(path),
        _ => JsValue::NULL,
    };
    let bytes = Uint8Array::from(encoded(reply).as_slice());
    // Nothing can be done about a worker that no longer listens.
    let _ = send.call2(&JsValue::NULL, &bytes, &path);
}
