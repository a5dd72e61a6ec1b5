use std::ops::ControlFlow;

use hyper_delay_store::{ReadStore, Space, StoreError};

/// Visits the rows of a space from the key `from` on, until `visit` breaks or fails.
pub(super) fn scan(
    store: &impl ReadStore,
    space: Space,
    from: &[u8],
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), StoreError> {
    let mut result = Ok(());
    store.scan(space, from, &mut |key, value| {
        visit(key, value).unwrap_or_else(|error| {
            result = Err(error);
            ControlFlow::Break(())
        })
    })?;
    result
}

/// Visits the rows of `meta` whose keys begin with `prefix`, with the rest of the key.
pub(super) fn scan_meta(
    store: &impl ReadStore,
    prefix: &[u8],
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    scan(store, Space::Meta, prefix, |key, value| {
        match key.strip_prefix(prefix) {
            Some(rest) => visit(rest, value).map(ControlFlow::Continue),
            None => Ok(ControlFlow::Break(())),
        }
    })
}
