//! The checks as a WebAssembly module without imports: text in, JSON out, and a benchmark.
//!
//! Memory is passed by pointer. The caller allocates memory, writes UTF-8 into it, calls a check,
//! reads a length (`u32`, little-endian) and that many bytes of JSON, and frees both.
#![allow(
    unsafe_code,
    reason = "exported symbols and raw memory are the interface of a module"
)]

use std::alloc::Layout;

use crate::Outcome;

fn layout(len: u32) -> Layout {
    // At least four bytes, so that an empty text is not a zero-sized allocation. A `u32` length
    // always fits.
    Layout::from_size_align((len as usize).max(4), 4).unwrap_or(Layout::new::<u32>())
}

/// Allocates memory for `len` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(len: u32) -> *mut u8 {
    // SAFETY: the layout has a size above 0.
    unsafe { std::alloc::alloc(layout(len)) }
}

/// Frees memory.
///
/// # Safety
/// `ptr` came from [`alloc`] with the same `len`, or from a check; then `len` is the length that
/// precedes its text, plus 4.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dealloc(ptr: *mut u8, len: u32) {
    // SAFETY: guaranteed by the caller, see above.
    unsafe { std::alloc::dealloc(ptr, layout(len)) }
}

/// Compares the content of one golden file and returns the outcome as JSON.
///
/// # Safety
/// `ptr` points to `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check_golden(ptr: *const u8, len: u32) -> *mut u8 {
    // SAFETY: guaranteed by the caller, see above.
    reply(&unsafe { text(ptr, len) }.map_or_else(not_text, crate::check_golden))
}

/// Compares the content of a digest list and returns the outcome as JSON.
///
/// # Safety
/// `ptr` points to `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn check_digests(ptr: *const u8, len: u32) -> *mut u8 {
    // SAFETY: guaranteed by the caller, see above.
    reply(&unsafe { text(ptr, len) }.map_or_else(not_text, crate::check_digests))
}

unsafe fn text<'a>(ptr: *const u8, len: u32) -> Option<&'a str> {
    // SAFETY: guaranteed by the callers.
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

/// Runs about `n` steps of a loop and returns the sum of rewards, see [`crate::bench::run`].
#[unsafe(no_mangle)]
pub extern "C" fn bench(kind: u32, n: u32) -> f64 {
    crate::bench::run(kind, n)
}
