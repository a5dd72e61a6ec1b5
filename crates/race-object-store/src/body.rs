//! The body of a GET, which is decided at its first chunk.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_core::{Stream, stream::BoxStream};
use object_store::{GetResult, GetResultPayload, Result};

type Body = BoxStream<'static, Result<Bytes>>;

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

async fn begin_body(mut body: Body) -> Result<Body> {
    let begun = loop {
        match poll_fn(|cx| body.as_mut().poll_next(cx)).await {
            // It has no byte, so it decides nothing.
            Some(Ok(chunk)) if chunk.is_empty() => {}
            Some(Ok(chunk)) => {
                let (first, rest) = (Some(chunk), Some(body));
                break Begun { first, rest };
            }
            Some(Err(error)) => return Err(error),
            None => {
                let (first, rest) = (None, None);
                break Begun { first, rest };
            }
        }
    };
    Ok(Box::pin(begun))
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
