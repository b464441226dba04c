//! Access to the browser: address, history, clipboard, files and stored settings. Every call may
//! fail, and none panics.

use leptos::prelude::{document, window};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::engine_pool::Program;

/// Size of the largest file that the page reads, in bytes.
pub const FILE_MAX: f64 = 32.0 * 1_048_576.0;
/// Origin of the page that embeds a Hugging Face Space.
const SPACES: &str = "https://huggingface.co";

/// Installs a panic hook that shows a sentence above the page.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|_| {
        let Some(body) = document().body() else {
            return;
        };
        let sentence = document().create_element("p");
        if let Ok(sentence) = sentence {
            sentence.set_text_content(Some(
                "The page stopped because of a program error. Reload it to continue; the address keeps the episode.",
            ));
            let _ = sentence.set_attribute("role", "alert");
            let _ = sentence.set_attribute("class", "stopped");
            let _ = body.prepend_with_node_1(&sentence);
        }
    }));
}

/// Draws the page for as long as the tab lives.
pub fn mount(page: fn() -> crate::dom::View) {
    if let Some(body) = document().body() {
        leptos::mount::mount_to_renderer(&body, page).forget();
    }
}

/// Removes the placeholder that `index.html` shows until the page is drawn.
pub fn clear_placeholder() {
    if let Some(placeholder) = document().get_element_by_id("loading") {
        placeholder.remove();
    }
}

/// Returns the worlds that `index.html` lists as `<meta name="engine-WORLD" content="URL"
/// data-title="TITLE" data-spot="NAME" data-question="QUESTION" data-hint="HOW TO ANSWER IT"
/// data-warning="NOTICE" data-board="rows">`.
#[must_use]
pub fn engine_programs() -> Vec<Program> {
    let mut all = Vec::new();
    let Ok(tags) = document().query_selector_all("meta[name^=engine-]") else {
        return all;
    };
    for index in 0..tags.length() {
        let tag = tags.item(index);
        let Some(tag) = tag.and_then(|tag| tag.dyn_into::<web_sys::HtmlMetaElement>().ok()) else {
            continue;
        };
        let Some(name) = tag.name().strip_prefix("engine-").map(str::to_owned) else {
            continue;
        };
        if name != "worker" {
            let text = |name| tag.get_attribute(name).unwrap_or_default();
            let title = tag.get_attribute("data-title");
            all.push(Program {
                title: title.unwrap_or_else(|| name.clone()),
                world: name,
                module: tag.content(),
                purpose: text("data-purpose"),
                spot: text("data-spot"),
                question: text("data-question"),
                hint: text("data-hint"),
                warning: text("data-warning"),
                board: text("data-board"),
            });
        }
    }
    all
}

/// Returns the address of the worker script that starts an engine.
#[must_use]
pub fn engine_script() -> String {
    meta_content("meta[name=engine-worker]").unwrap_or_else(|| "./engine.js".to_owned())
}

/// Returns the address of an engine's program, which the page names in `<meta name="NAME">`.
#[must_use]
pub fn program(name: &str) -> String {
    meta_content(&format!("meta[name={name}]")).unwrap_or_default()
}

/// Returns a link that the build of the site has written as `<meta name="NAME" content="URL">`.
#[must_use]
pub fn site_link(name: &str) -> Option<String> {
    meta_content(&format!("meta[name={name}]")).filter(|link| !link.is_empty())
}

/// Returns the content of the first element that matches a selector.
fn meta_content(selector: &str) -> Option<String> {
    let tag = document().query_selector(selector).ok()??;
    tag.get_attribute("content")
}

/// Returns the query of the address, including `?`; empty if there is none.
#[must_use]
pub fn query() -> String {
    window().location().search().unwrap_or_default()
}

/// Sets the query of the address without loading anything. With `new_entry` it adds an entry to the
/// browser's history, otherwise it replaces the current one.
pub fn set_query(query: &str, new_entry: bool) {
    let window = window();
    let (Ok(path), Ok(history)) = (window.location().pathname(), window.history()) else {
        return;
    };
    let fragment = window.location().hash().unwrap_or_default();
    let address = format!("{path}?{query}{fragment}");
    let state = JsValue::NULL;
    // A sandboxed frame may not be allowed to do this; the page works all the same.
    let _ = if new_entry {
        history.push_state_with_url(&state, "", Some(&address))
    } else {
        history.replace_state_with_url(&state, "", Some(&address))
    };
}

/// Reports the query of the address to the page of a Hugging Face Space, which shows it in its own
/// address.
pub fn report_query(query: &str) {
    post_to_parent(&[("queryString", JsValue::from_str(query))], SPACES);
}

/// Posts an object with these fields to the parent page, if the page is embedded.
pub fn post_to_parent(fields: &[(&str, JsValue)], origin: &str) {
    let own = window();
    let Some(parent) = own.parent().ok().flatten().filter(|parent| *parent != own) else {
        return;
    };
    let message = js_sys::Object::new();
    for (name, value) in fields {
        let _ = js_sys::Reflect::set(&message, &JsValue::from_str(name), value);
    }
    let _ = parent.post_message(&message, origin);
}

/// Returns the complete address of the page.
#[must_use]
pub fn address() -> String {
    window().location().href().unwrap_or_default()
}

/// Returns the address of the page without query and fragment.
#[must_use]
pub fn page_address() -> String {
    let address = address();
    address
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Copies text to the clipboard; returns `false` if the browser does not allow it.
pub async fn copy_to_clipboard(text: &str) -> bool {
    let navigator = window().navigator();
    // The clipboard exists only in a secure context.
    let Ok(clipboard) = js_sys::Reflect::get(&navigator, &JsValue::from_str("clipboard")) else {
        return false;
    };
    let Ok(clipboard) = clipboard.dyn_into::<web_sys::Clipboard>() else {
        return false;
    };
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// Saves a file with this name, media type and content to the visitor's disk; returns `false` if the
/// browser refuses.
pub fn download(name: &str, mime: &str, bytes: &[u8]) -> bool {
    let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(mime);
    let blob = web_sys::Blob::new_with_u8_array_sequence_and_options(&parts, &options);
    blob.is_ok_and(|blob| save_blob(name, &blob))
}

/// Saves a file with this name and content to the visitor's disk; returns `false` if the browser
/// refuses.
pub fn save_blob(name: &str, blob: &web_sys::Blob) -> bool {
    let Ok(address) = web_sys::Url::create_object_url_with_blob(blob) else {
        return false;
    };
    let link = document().create_element("a").ok();
    let link = link.and_then(|link| link.dyn_into::<web_sys::HtmlElement>().ok());
    let is_set = link.is_some_and(|link| {
        let is_set = link.set_attribute("href", &address).is_ok()
            && link.set_attribute("download", name).is_ok();
        link.click();
        is_set
    });
    // The browser may still be reading.
    let revoke = move || {
        let _ = web_sys::Url::revoke_object_url(&address);
    };
    leptos::prelude::set_timeout(revoke, std::time::Duration::from_secs(60));
    is_set
}

/// Returns a function that `start.js` defines.
fn start_function(name: &str) -> Option<js_sys::Function> {
    let function = js_sys::Reflect::get(&window(), &JsValue::from_str(name)).ok()?;
    function.dyn_into().ok()
}

/// Reloads the page if the host has another version of it, which replaced files of this one; at most
/// once a minute.
pub fn reload_if_outdated() {
    if let Some(reload) = start_function("reloadIfOutdated") {
        let _ = reload.call0(&JsValue::UNDEFINED);
    }
}

/// Loads the script that `index.html` lists as `<meta name="script-NAME">`, and returns its module;
/// `None` if it cannot be loaded.
pub async fn load_script(name: &str) -> Option<JsValue> {
    let module = start_function("loadScript")?
        .call1(&JsValue::UNDEFINED, &JsValue::from_str(name))
        .ok()?;
    JsFuture::from(module.dyn_into::<js_sys::Promise>().ok()?)
        .await
        .ok()
}

/// Scrolls to the top of the page.
pub fn scroll_to_top() {
    window().scroll_to_with_x_and_y(0.0, 0.0);
}

/// Sets the title of the document.
pub fn set_title(title: &str) {
    document().set_title(title);
}

/// Sets an attribute of the root element.
pub fn set_root_attribute(name: &str, value: &str) {
    if let Some(root) = document().document_element() {
        let _ = root.set_attribute(name, value);
    }
}

/// Returns 32 random bits as a seed, which is short enough to read out.
#[must_use]
pub fn random_seed() -> u64 {
    (js_sys::Math::random() * 4_294_967_296.0) as u64
}

/// Returns a setting that this browser has stored; `None` if there is none.
#[must_use]
pub fn stored_setting(name: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(name).ok()?
}

/// Stores a setting in this browser; returns `false` if that is not allowed or there is no room.
pub fn store_setting(name: &str, value: &str) -> bool {
    let storage = window().local_storage().ok().flatten();
    storage.is_some_and(|storage| storage.set_item(name, value).is_ok())
}

/// Removes a stored setting.
pub fn remove_setting(name: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.remove_item(name);
    }
}

/// Returns the time in milliseconds since 1970-01-01 (UTC).
#[must_use]
pub fn now_ms() -> f64 {
    js_sys::Date::now()
}

/// Returns the address of the page with another query, given without `?`.
#[must_use]
pub fn address_with(query: &str) -> String {
    let address = address();
    let page = address.split(['?', '#']).next().unwrap_or_default();
    format!("{page}?{query}")
}

/// Returns `true` if the visitor prefers pages that do not move by themselves.
#[must_use]
pub fn prefers_stillness() -> bool {
    let query = window().match_media("(prefers-reduced-motion: reduce)");
    query.ok().flatten().is_some_and(|query| query.matches())
}

/// Returns `true` if the window is as narrow as a phone.
#[must_use]
pub fn is_narrow() -> bool {
    let width = window().inner_width().ok().and_then(|width| width.as_f64());
    width.is_some_and(|width| width < 760.0)
}

/// Returns the number of engines that may share long work: as many as the machine has processors,
/// and at most four.
#[must_use]
pub fn engines_for_long_work() -> u8 {
    // A cast of a float saturates.
    (window().navigator().hardware_concurrency() as u8).clamp(1, 4)
}

/// Returns the number of engines that help to train: one less than the machine has processors, and at most
/// eight.
#[must_use]
pub fn helpers_for_training() -> u8 {
    (window().navigator().hardware_concurrency() as u8).clamp(1, 9) - 1
}

/// Returns the bytes of a file that the visitor chose.
///
/// # Errors
/// Returns a sentence with the name and the reason; files above [`FILE_MAX`] are not read.
pub async fn read_file(file: &web_sys::File) -> Result<Vec<u8>, String> {
    let name = file.name();
    if file.size() > FILE_MAX {
        let size = (file.size() / 1_048_576.0) as u64;
        return Err(format!(
            "{name} is {size} MiB in size; the page reads files up to 32 MiB. Use `sentinel replay verify` for larger ones."
        ));
    }
    let buffer = JsFuture::from(file.array_buffer()).await;
    let buffer = buffer.map_err(|_| format!("{name} could not be read."))?;
    Ok(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// Returns the files of a list; none for `None`.
#[must_use]
pub fn files_of_list(list: Option<web_sys::FileList>) -> Vec<web_sys::File> {
    list.map_or_else(Vec::new, |list| {
        (0..list.length()).filter_map(|i| list.get(i)).collect()
    })
}

/// Moves the focus to an element, if there is one.
pub fn focus(element: Option<web_sys::Element>) {
    if let Some(Ok(element)) = element.map(|found| found.dyn_into::<web_sys::HtmlElement>()) {
        let _ = element.focus();
    }
}

/// Scrolls to the element with this id and moves the focus to it, if there is one.
pub fn show(id: &str) {
    let found = document().get_element_by_id(id);
    if let Some(element) = &found {
        element.scroll_into_view();
    }
    focus(found);
}

/// Returns the element that an event came from.
#[must_use]
pub fn event_target(event: &web_sys::Event) -> Option<web_sys::Element> {
    event.target()?.dyn_into().ok()
}

/// Returns `true` if a key event came from a form field that uses the key itself.
#[must_use]
pub fn is_typing(event: &web_sys::Event) -> bool {
    event_target(event).is_some_and(|element| {
        let range = element
            .get_attribute("type")
            .is_some_and(|kind| kind == "range");
        let tag = element.tag_name();
        (tag == "INPUT" && !range) || tag == "SELECT" || tag == "TEXTAREA"
    })
}

/// Returns `true` if the focused element reacts to the space bar.
#[must_use]
pub fn is_pressable(event: &web_sys::Event) -> bool {
    let pressable = ["BUTTON", "A", "SUMMARY"];
    event_target(event).is_some_and(|element| pressable.contains(&element.tag_name().as_str()))
}
