//! Decompression allocates no more than its limit, whatever a payload claims.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use hyper_delay::{internals, protocol::Compression};

/// Counts the bytes that are allocated, and the most that were at a time.
struct Counted;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: it forwards every call to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// The most bytes that decompressing allocates at a time.
fn allocated(compression: Compression, payload: &[u8], limit: usize) -> usize {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let inflated = internals::inflate(compression, payload, limit);
    assert!(inflated.is_err(), "it is longer than {limit} bytes");
    MOST.load(Ordering::Relaxed) - before
}

// One test, so that no other one allocates meanwhile.
#[test]
fn decompression_allocates_by_its_limit_and_not_by_a_header() {
    /// What the tables of a decoder, and its last block, take.
    const DECODER: usize = 2 << 20;
    const LIMIT: usize = 48 << 10;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads");
    // 4 MiB in one block; 64 MiB in blocks of 128 KiB, with a window of 8 MiB.
    let lz4 = fs::read(folder.join("zeros.lz4")).unwrap();
    let zstd = fs::read(folder.join("zeros.zst")).unwrap();
    // The header of a window of 128 MiB, and a first block that is not there.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3];
    let most = [
        allocated(Compression::Lz4, &lz4, LIMIT),
        allocated(Compression::Zstd, &zstd, LIMIT),
        allocated(Compression::Zstd, &window, LIMIT),
    ];
    assert!(most[0] <= LIMIT + 1024, "{most:?}");
    assert!(
        most.into_iter().all(|most| most <= LIMIT + DECODER),
        "{most:?}"
    );
    // With more room it allocates more, so the bound above is one.
    let larger = allocated(Compression::Lz4, &lz4, 1 << 20);
    assert!(larger >= 1 << 20, "{larger}");
}
