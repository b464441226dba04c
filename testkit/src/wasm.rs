//! The checks as a wasm module without imports: text in, JSON out, and a bench to time.
//!
//! Memory goes both ways by pointer: the caller allocates, writes UTF-8, calls a check, reads
//! a length (`u32`, little-endian) and that many bytes of JSON, and gives both back.
#![allow(
    unsafe_code,
    reason = "exported symbols and raw memory are the interface of a module"
)]

use std::alloc::Layout;

use crate::Outcome;

fn layout(len: u32) -> Layout {
    // Four bytes at least: an empty text has a place too. A `u32` length always fits.
    Layout::from_size_align((len as usize).max(4), 4).unwrap_or(Layout::new::<u32>())
}

/// Memory for `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(len: u32) -> *mut u8 {
    // SAFETY: the layout has a size above 0.
    unsafe { std::alloc::alloc(layout(len)) }
}

/// Gives memory back.
///
/// # Safety
/// `ptr` came from [`alloc`] with the same `len`, or from a check with the length that stands
/// before its text plus 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dealloc(ptr: *mut u8, len: u32) {
    // SAFETY: the caller's promise.
    unsafe { std::alloc::dealloc(ptr, layout(len)) }
}

/// Compares the content of one golden file.
///
/// # Safety
/// `ptr` points to `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check_golden(ptr: *const u8, len: u32) -> *mut u8 {
    // SAFETY: the caller's promise.
    reply(&unsafe { text(ptr, len) }.map_or_else(not_text, crate::check_golden))
}

/// Compares the content of a digest list.
///
/// # Safety
/// `ptr` points to `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check_digests(ptr: *const u8, len: u32) -> *mut u8 {
    // SAFETY: the caller's promise.
    reply(&unsafe { text(ptr, len) }.map_or_else(not_text, crate::check_digests))
}

unsafe fn text<'a>(ptr: *const u8, len: u32) -> Option<&'a str> {
    // SAFETY: the caller's promise.
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(ptr, len as usize) }).ok()
}

fn not_text() -> Outcome {
    let mut outcome = Outcome::default();
    outcome.row("input", &["is not UTF-8".to_owned()]);
    outcome
}

fn reply(outcome: &Outcome) -> *mut u8 {
    let json = serde_json::to_vec(outcome).unwrap_or_default();
    let ptr = alloc(json.len() as u32 + 4);
    // SAFETY: `ptr` has room for the length and the text.
    unsafe {
        ptr.cast::<u32>()
            .write_unaligned((json.len() as u32).to_le());
        std::ptr::copy_nonoverlapping(json.as_ptr(), ptr.add(4), json.len());
    }
    ptr
}

/// Takes about `n` steps of a kind and returns the sum of rewards, for the caller to time.
#[unsafe(no_mangle)]
pub extern "C" fn bench(kind: u32, n: u32) -> f64 {
    crate::bench::run(kind, n)
}
