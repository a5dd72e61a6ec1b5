use std::panic;

/// Panics with a payload, without printing a message.
pub(crate) fn throw(payload: usize) -> ! {
    panic::resume_unwind(Box::new(payload))
}

/// Runs a closure. Returns the payload if it panics by `throw`.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, usize> {
    panic::catch_unwind(panic::AssertUnwindSafe(run)).map_err(|payload| {
        match payload.downcast::<usize>() {
            Ok(payload) => *payload,
            Err(other) => panic::resume_unwind(other),
        }
    })
}
