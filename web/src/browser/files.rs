//! Reading files: from the site, and from the person's disk.

use leptos::prelude::window;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::shelf::FILE_MAX;

fn unreachable(address: &str) -> impl Fn(JsValue) -> String + Copy + '_ {
    move |_| format!("{address} could not be fetched: no answer from the host")
}

async fn fetch(address: &str) -> Result<web_sys::Response, String> {
    let unreachable = unreachable(address);
    let response = JsFuture::from(window().fetch_with_str(address))
        .await
        .map_err(unreachable)?;
    let response: web_sys::Response = response.dyn_into().map_err(unreachable)?;
    if !response.ok() {
        return Err(format!(
            "{address} could not be fetched: the host answers {}",
            response.status()
        ));
    }
    Ok(response)
}

/// The bytes at a relative address.
///
/// # Errors
/// A sentence with the address and the reason.
pub async fn fetch_bytes(address: &str) -> Result<Vec<u8>, String> {
    let (response, unreachable) = (fetch(address).await?, unreachable(address));
    let buffer = JsFuture::from(response.array_buffer().map_err(unreachable)?)
        .await
        .map_err(unreachable)?;
    Ok(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// The text at a relative address.
///
/// # Errors
/// A sentence with the address and the reason.
pub async fn fetch_text(address: &str) -> Result<String, String> {
    let (response, unreachable) = (fetch(address).await?, unreachable(address));
    let text = JsFuture::from(response.text().map_err(unreachable)?)
        .await
        .map_err(unreachable)?;
    text.as_string()
        .ok_or_else(|| format!("{address} is not text"))
}

/// The text of a file that the person chose.
///
/// # Errors
/// A sentence with the name and the reason; files above [`FILE_MAX`] are not read.
pub async fn read_file(file: &web_sys::File) -> Result<String, String> {
    let name = file.name();
    if file.size() > FILE_MAX {
        let (size, max) = (file.size() / 1048576.0, FILE_MAX / 1048576.0);
        return Err(format!(
            "{name} has {size:.0} MB; the page reads up to {max:.0} MB. Use `sentinel replay verify` for larger files."
        ));
    }
    let text = JsFuture::from(file.text())
        .await
        .map_err(|_| format!("{name} could not be read"))?;
    text.as_string()
        .ok_or_else(|| format!("{name} is not text"))
}
