//! The training run that the browser keeps, so that closing the tab does not lose it: one value in
//! IndexedDB. A browser that stores nothing, as in a private window, keeps none.

use js_sys::{Promise, Uint8Array};
use leptos::prelude::window;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbDatabase, IdbObjectStore, IdbOpenDbRequest, IdbRequest, IdbTransactionMode};

const DATABASE: &str = "sentinel";
const STORE: &str = "training";
const KEY: &str = "run";

/// Keeps the bytes of a run in place of the former ones.
pub async fn put(bytes: &[u8]) {
    if let Some(store) = store(IdbTransactionMode::Readwrite).await {
        let value = Uint8Array::from(bytes);
        // A full disk keeps the former run; nothing can be done about it here.
        let _ = store.put_with_key(&value, &JsValue::from_str(KEY));
    }
}

/// Returns the bytes of the kept run; `None` if there is none.
pub async fn get() -> Option<Vec<u8>> {
    let store = store(IdbTransactionMode::Readonly).await?;
    let value = result(&store.get(&JsValue::from_str(KEY)).ok()?).await?;
    Some(value.dyn_into::<Uint8Array>().ok()?.to_vec())
}

/// Forgets the kept run.
pub async fn remove() {
    if let Some(store) = store(IdbTransactionMode::Readwrite).await {
        let _ = store.delete(&JsValue::from_str(KEY));
    }
}

async fn store(mode: IdbTransactionMode) -> Option<IdbObjectStore> {
    let factory = window().indexed_db().ok()??;
    let request = factory.open_with_u32(DATABASE, 1).ok()?;
    let create = {
        let request: IdbOpenDbRequest = request.clone();
        Closure::once(move || {
            let database = request.result().ok()?.dyn_into::<IdbDatabase>().ok()?;
            database.create_object_store(STORE).ok().map(JsValue::from)
        })
    };
    request.set_onupgradeneeded(Some(create.as_ref().unchecked_ref()));
    let database = result(&request).await?.dyn_into::<IdbDatabase>().ok()?;
    let transaction = database.transaction_with_str_and_mode(STORE, mode).ok()?;
    // It closes once the transaction has ended.
    database.close();
    transaction.object_store(STORE).ok()
}

/// Returns the result of a request once it is there; `None` if it failed.
async fn result(request: &IdbRequest) -> Option<JsValue> {
    let promise = Promise::new(&mut |resolve, reject| {
        request.set_onsuccess(Some(&resolve));
        request.set_onerror(Some(&reject));
    });
    JsFuture::from(promise).await.ok()?;
    request.result().ok()
}
