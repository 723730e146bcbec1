//! Every byte that the process or worker asks its allocator for, counted.
//!
//! A binary that measures installs it: `#[global_allocator] static ALLOCATOR: CountingAllocator = CountingAllocator;`. Where none is
//! installed nothing is counted, and [`in_use`] says so.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, with a count beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// Bytes asked for and not given back. Each count stands alone, orders nothing else, and so needs no stronger ordering.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The largest [`IN_USE`] since [`mark`].
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn took(bytes: usize) {
    let before = IN_USE.fetch_add(bytes, Relaxed);
    PEAK.fetch_max(before.saturating_add(bytes), Relaxed);
}

fn gave_back(bytes: usize) {
    IN_USE.fetch_sub(bytes, Relaxed);
}

/// Bytes in use; `None` where no binary installed the counter.
pub fn in_use() -> Option<u64> {
    // A program in which anything runs has allocated something.
    let bytes = IN_USE.load(Relaxed);
    (bytes > 0).then_some(bytes as u64)
}

/// Forgets the peak so far: it starts again at what is in use.
pub fn mark() {
    PEAK.store(IN_USE.load(Relaxed), Relaxed);
}

/// The most in use at once since the last [`mark`].
pub fn peak() -> u64 {
    PEAK.load(Relaxed) as u64
}

/// Bytes that stand ready for this process, used or not; `None` where the system cannot be asked.
pub fn reserved() -> Option<u64> {
    #[cfg(target_arch = "wasm32")]
    {
        /// Of WebAssembly.
        const PAGE: u64 = 65_536;
        Some(core::arch::wasm32::memory_size(0) as u64 * PAGE)
    }
    #[cfg(not(target_arch = "wasm32"))]
    None
}

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe by its trait; each call is handed on unchanged"
)]
// SAFETY: every block comes from, and goes back to, `System` with the layout that the caller gave; counting touches two atomics and
// allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            took(layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            took(layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from `System` with this layout, since every block did.
        unsafe { System.dealloc(block, layout) };
        gave_back(layout.size());
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`; the caller's promise about `new_size` is handed on.
        let moved = unsafe { System.realloc(block, layout, new_size) };
        if !moved.is_null() {
            // The new block first: while it was filled, both may have stood there.
            took(new_size);
            gave_back(layout.size());
        }
        moved
    }
}
