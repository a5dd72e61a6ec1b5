//! A GET is decided at the first chunk of its body.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::Stream;
use object_store::{GetResult, GetResultPayload, Result};

use super::Body;

/// Waits for the first byte of a body, or for its end if it is empty. Returns the same result.
pub(crate) async fn begin(result: GetResult) -> Result<GetResult> {
    let payload = match result.payload {
        GetResultPayload::Stream(body) => GetResultPayload::Stream(begin_body(body).await?),
        // Whether there are files depends on a feature of `object_store`.
        #[allow(unreachable_patterns)]
        file => file,
    };
    Ok(GetResult { payload, ..result })
}

/// Empty chunks that are taken in a row before other tasks get a turn.
const EMPTY_CHUNKS_PER_POLL: usize = 32;

async fn begin_body(mut body: Body) -> Result<Body> {
    let first = poll_fn(|cx| poll_byte(body.as_mut(), cx)).await?;
    let rest = first.is_some().then_some(body);
    Ok(Box::pin(Begun { first, rest }))
}

/// Polls for the next chunk that has a byte: an empty one decides nothing.
pub(super) fn poll_byte(
    mut body: Pin<&mut (impl Stream<Item = Result<Bytes>> + ?Sized)>,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Bytes>>> {
    for _ in 0..EMPTY_CHUNKS_PER_POLL {
        match ready!(body.as_mut().poll_next(cx)) {
            Some(Ok(chunk)) if chunk.is_empty() => {}
            chunk => return Poll::Ready(chunk.transpose()),
        }
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// A body whose first chunk is put back in front of the rest.
struct Begun {
    first: Option<Bytes>,
    /// `None` after its end.
    rest: Option<Body>,
}

impl Stream for Begun {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let Some(rest) = &mut self.rest else {
            return Poll::Ready(None);
        };
        let chunk = ready!(rest.as_mut().poll_next(cx));
        if chunk.is_none() {
            self.rest = None;
        }
        Poll::Ready(chunk)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let first = usize::from(self.first.is_some());
        let (least, most) = self.rest.as_ref().map_or((0, Some(0)), |it| it.size_hint());
        let most = most.and_then(|most| most.checked_add(first));
        (least.saturating_add(first), most)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Wake, Waker},
    };

    use futures::{StreamExt as _, stream};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn body_of_empty_chunks_yields_to_other_tasks() {
        let mut chunks = 0;
        let body = stream::poll_fn(move |_| {
            chunks += 1;
            match chunks {
                1..=1_000 => Poll::Ready(Some(Ok(Bytes::new()))),
                _ => panic!("it took {chunks} chunks and did not yield"),
            }
        });
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let mut begun = Box::pin(begin_body(body.boxed()));
        for poll in 1..=10 {
            let polled = begun.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            assert_eq!(wakes.0.load(Ordering::Relaxed), poll, "it asks for a poll");
        }
    }

    #[test]
    fn byte_after_many_empty_chunks_decides() {
        let chunks = (0..100).map(|_| Bytes::new()).chain(["x".into()]);
        let body = stream::iter(chunks.map(Ok)).boxed();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let mut begun = Box::pin(begin_body(body));
        let begun = loop {
            match begun.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(begun) => break begun,
                // An executor would wait for ever.
                Poll::Pending => assert_eq!(wakes.0.swap(0, Ordering::Relaxed), 1),
            }
        };
        let chunks: Vec<_> = futures::executor::block_on_stream(begun.expect("no error")).collect();
        assert!(
            matches!(&chunks[..], [Ok(chunk)] if chunk == "x"),
            "{chunks:?}"
        );
    }
}
