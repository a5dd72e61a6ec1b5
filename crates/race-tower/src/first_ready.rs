use std::{
    fmt, mem,
    task::{Context, Poll},
};

use tower_service::Service;

/// Polls services in an order of preference until one of them is ready, for
/// [`Backends`](crate::Backends) of your own.
///
/// A service that is not ready stays, and is polled again before others. One whose readiness fails
/// is dropped.
pub struct FirstReady<K, S> {
    /// Those whose readiness is awaited, by key. If one is ready, it is alone.
    polled: Vec<(K, S)>,
    is_ready: bool,
}

impl<K, S> FirstReady<K, S> {
    /// Creates one that has polled nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            polled: Vec::new(),
            is_ready: false,
        }
    }

    /// Polls until a service is ready. `next` returns the next service and its key, given the keys
    /// of those that were tried; `None`, or a key that was tried, if there are no others.
    ///
    /// # Errors
    ///
    /// The last error, if the readiness of all services has failed.
    pub fn poll_ready<Req>(
        &mut self,
        cx: &mut Context<'_>,
        mut next: impl FnMut(&[K]) -> Option<(K, S)>,
    ) -> Poll<Result<(), S::Error>>
    where
        K: Clone + PartialEq,
        S: Service<Req>,
    {
        self.is_ready = false;
        let mut awaited = mem::take(&mut self.polled).into_iter();
        let (mut tried, mut failed) = (Vec::new(), None);
        loop {
            let another = || next(&tried).filter(|(key, _)| !tried.contains(key));
            let Some((key, mut service)) = awaited.next().or_else(another) else {
                break;
            };
            match service.poll_ready(cx) {
                Poll::Ready(Ok(())) => {
                    self.polled.clear();
                    self.polled.push((key, service));
                    self.is_ready = true;
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Err(error)) => {
                    failed = Some(error);
                    tried.push(key);
                }
                Poll::Pending => {
                    tried.push(key.clone());
                    self.polled.push((key, service));
                }
            }
        }
        match failed {
            Some(error) if self.polled.is_empty() => Poll::Ready(Err(error)),
            _ => Poll::Pending,
        }
    }

    /// Returns whether a service is ready.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Returns the key of the service that is ready.
    #[must_use]
    pub fn key(&self) -> Option<&K> {
        let first = self.polled.first().filter(|_| self.is_ready);
        first.map(|(key, _)| key)
    }

    /// Takes the service that is ready, and its key.
    ///
    /// # Panics
    ///
    /// Panics if none is ready.
    pub fn take(&mut self) -> (K, S) {
        assert!(
            mem::take(&mut self.is_ready),
            "`call` comes after `poll_ready` returned `Ready`"
        );
        self.polled.remove(0)
    }
}

impl<K, S> Default for FirstReady<K, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, S> fmt::Debug for FirstReady<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.polled.iter().map(|(key, _)| key).collect();
        f.debug_struct("FirstReady")
            .field("polled", &keys)
            .field("is_ready", &self.is_ready)
            .finish()
    }
}
