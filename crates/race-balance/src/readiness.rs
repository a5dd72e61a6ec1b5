use std::{
    fmt, mem,
    task::{Context, Poll},
};

use tower_service::Service;

use crate::{endpoint::Place, order::Order};

/// Polls the services of endpoints in an order of preference until one of them is ready. Each poll
/// asks each service once.
pub(crate) struct Readiness<E, S> {
    /// Those that are not ready, by the position of their endpoint. They stay, to be woken.
    awaited: Vec<Polled<E, S>>,
    ready: Option<Polled<E, S>>,
}

struct Polled<E, S> {
    position: usize,
    place: Place<E>,
    service: S,
}

impl<E, S> Readiness<E, S> {
    pub(crate) const fn new() -> Self {
        Self {
            awaited: Vec::new(),
            ready: None,
        }
    }

    /// Polls until a service is ready. The others are dropped then, with what they hold. One whose
    /// readiness fails is dropped, and begins anew at the next poll. `clone` makes a service.
    ///
    /// # Errors
    ///
    /// The last error, if the readiness of all services has failed.
    pub(crate) fn poll_ready<Req>(
        &mut self,
        cx: &mut Context<'_>,
        order: Order<'_, E>,
        clone: impl Fn(&E) -> S,
    ) -> Poll<Result<(), S::Error>>
    where
        S: Service<Req>,
    {
        let mut earlier: Vec<_> = self.ready.take().into_iter().collect();
        earlier.append(&mut self.awaited);
        let mut is_polled = vec![false; order.count()];
        for polled in &earlier {
            is_polled[polled.position] = true;
        }
        let mut order = order.without(|position| is_polled[position]);
        let others = std::iter::from_fn(|| {
            let (position, place) = order.next()?;
            let service = clone(&place.endpoint().value);
            Some(Polled {
                position,
                place,
                service,
            })
        });
        let mut failed = None;
        for mut polled in earlier.into_iter().chain(others) {
            match polled.service.poll_ready(cx) {
                Poll::Ready(Ok(())) => {
                    self.awaited.clear();
                    self.ready = Some(polled);
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Err(error)) => failed = Some(error),
                Poll::Pending => self.awaited.push(polled),
            }
        }
        match failed {
            Some(error) if self.awaited.is_empty() => Poll::Ready(Err(error)),
            _ => Poll::Pending,
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Takes the service that is ready.
    pub(crate) fn take(&mut self) -> Option<(Place<E>, S)> {
        let ready = mem::take(&mut self.ready)?;
        Some((ready.place, ready.service))
    }
}

impl<E, S> fmt::Debug for Readiness<E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness")
            .field("awaited", &self.awaited.len())
            .field("is_ready", &self.is_ready())
            .finish()
    }
}
