//! How an endpoint is recorded in the span of an attempt.

#[cfg(feature = "tracing")]
use std::fmt;
use std::marker::PhantomData;

/// Writes an endpoint.
#[cfg(feature = "tracing")]
type Write<E> = fn(&E, &mut fmt::Formatter<'_>) -> fmt::Result;

/// Records the endpoint of an attempt once. Without the feature `tracing` it does nothing.
pub(crate) struct Label<E> {
    #[cfg(feature = "tracing")]
    write: Option<Write<E>>,
    endpoint: PhantomData<fn(&E)>,
}

impl<E> Label<E> {
    pub(crate) const fn none() -> Self {
        Self {
            #[cfg(feature = "tracing")]
            write: None,
            endpoint: PhantomData,
        }
    }

    #[cfg(feature = "tracing")]
    pub(crate) const fn by(write: Write<E>) -> Self {
        Self {
            write: Some(write),
            endpoint: PhantomData,
        }
    }

    /// Records the endpoint, at the first call, if the current span is that of an attempt.
    #[inline]
    pub(crate) fn record(&mut self, endpoint: &E) {
        #[cfg(feature = "tracing")]
        if let Some(write) = self.write.take() {
            record_in(&tracing::Span::current(), &Written { endpoint, write });
        }
        #[cfg(not(feature = "tracing"))]
        let _ = endpoint;
    }
}

/// Spans of other names or targets may have a field of this name with another meaning.
#[cfg(feature = "tracing")]
fn record_in(span: &tracing::Span, endpoint: &dyn fmt::Display) {
    let metadata = span.metadata();
    if metadata.is_some_and(|it| (it.name(), it.target()) == ("attempt", "race")) {
        span.record("endpoint", tracing::field::display(endpoint));
    }
}

#[cfg(feature = "tracing")]
struct Written<'a, E> {
    endpoint: &'a E,
    write: Write<E>,
}

#[cfg(feature = "tracing")]
impl<E> fmt::Display for Written<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.write)(self.endpoint, f)
    }
}

impl<E> Clone for Label<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Label<E> {}
