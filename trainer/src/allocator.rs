//! The allocator of the program, and how it keeps memory.

/// Tensors of megabytes are allocated and freed often: the system's allocator returns such memory
/// to the kernel each time, which clears it again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of the option `purge_delay` in mimalloc's list.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Keeps freed memory for the next tensors instead of returning it to the kernel after a second, as is the
/// default: clearing it again took a sixth of the time of a training step. The program then has the memory
/// of its peak until it ends, so a server must not call this. The environment variable `MIMALLOC_PURGE_DELAY`
/// has precedence.
pub(crate) fn keep_freed_memory() {
    // SAFETY: the function reads two integers, and stores one in a list that the allocator reads at any time.
    #[allow(
        unsafe_code,
        reason = "the allocator has no safe function for its options"
    )]
    unsafe {
        libmimalloc_sys::mi_option_set_default(PURGE_DELAY, -1);
    }
}
