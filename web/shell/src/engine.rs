//! An engine: the program of one world, running in a Web Worker.

use std::rc::Rc;

use sentinel_page_protocol::{Reply, Request, decode, encode};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use crate::browser;

/// An event from an engine's worker.
#[derive(Debug)]
pub enum EngineEvent {
    /// Reports that the program runs.
    Ready,
    /// Delivers an answer of the engine.
    Reply(Box<Reply>),
    /// Reports that the program panicked or could not be loaded; the sentence says which.
    Failed(String),
}

/// A running engine. Dropping it terminates the worker.
pub struct Engine {
    worker: Worker,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_error: Closure<dyn FnMut(ErrorEvent)>,
}

impl Engine {
    /// Starts a worker with `script`, which runs the program at the address `module`. `listen` is
    /// called for every event.
    ///
    /// # Errors
    /// Returns a sentence if the browser cannot start a worker.
    pub fn start(
        script: &str,
        module: &str,
        listen: impl Fn(EngineEvent) + 'static,
    ) -> Result<Self, String> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = Worker::new_with_options(script, &options).map_err(|_| {
            "This browser cannot start Web Workers, which play the episodes.".to_owned()
        })?;
        let listen = Rc::new(listen);
        let on_error = {
            let listen = Rc::clone(&listen);
            Closure::<dyn FnMut(ErrorEvent)>::new(move |event: ErrorEvent| {
                event.prevent_default();
                browser::reload_if_outdated();
                let sentence = "The engine of this world could not be loaded.".to_owned();
                listen(EngineEvent::Failed(sentence));
            })
        };
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if let Some(event) = read(&event.data()) {
                listen(event);
            }
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        let _ = worker.post_message(&JsValue::from_str(module));
        Ok(Self {
            worker,
            _on_message: on_message,
            _on_error: on_error,
        })
    }

    /// Sends a request; `engine.js` queues it until the program runs.
    pub fn send(&self, request: &Request) {
        if let Ok(bytes) = encode(request) {
            let bytes = js_sys::Uint8Array::from(bytes.as_slice());
            // Moved instead of copied, so that no garbage is left here.
            let moved = js_sys::Array::of1(&bytes.buffer());
            let _ = self.worker.post_message_with_transfer(&bytes, &moved);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

/// Frees the memory of an array at once. Browsers leave hundreds of megabytes to their garbage collection
/// otherwise, since they know only of the small object that owns an array. One without the method for it
/// (before 2024) does that still.
fn free(bytes: &js_sys::Uint8Array) {
    let _ = bytes.buffer().transfer_with_length(0);
}

/// Parses a message of the worker: `{ready}`, `{failed: sentence, unloaded}` or `{reply: bytes}`. A
/// program that could not be loaded may belong to an outdated page, which is reloaded then.
fn read(message: &JsValue) -> Option<EngineEvent> {
    let field = |name: &str| js_sys::Reflect::get(message, &JsValue::from_str(name)).ok();
    if let Some(sentence) = field("failed").and_then(|value| value.as_string()) {
        if field("unloaded").is_some_and(|unloaded| unloaded.is_truthy()) {
            browser::reload_if_outdated();
        }
        return Some(EngineEvent::Failed(sentence));
    }
    if let Some(bytes) =
        field("reply").and_then(|value| value.dyn_into::<js_sys::Uint8Array>().ok())
    {
        let content = bytes.to_vec();
        free(&bytes);
        return Some(match decode(&content) {
            Ok(reply) => EngineEvent::Reply(Box::new(reply)),
            Err(_) => EngineEvent::Failed(
                "The engine of this world and the page have different versions. Reload the page."
                    .to_owned(),
            ),
        });
    }
    field("ready")?.is_truthy().then_some(EngineEvent::Ready)
}
