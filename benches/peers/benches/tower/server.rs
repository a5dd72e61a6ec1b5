//! A service that answers at once, or after polls that are pending.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};

use tower::Service;

/// Answers after as many polls that are pending.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) pending: u32,
}

pub(crate) struct Answer {
    pending: u32,
}

impl Future for Answer {
    type Output = Result<u32, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.pending == 0 {
            return Poll::Ready(Ok(7));
        }
        self.pending -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Service<u32> for Server {
    type Response = u32;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u32) -> Answer {
        let pending = self.pending;
        Answer { pending }
    }
}

/// Sends requests one after the other.
pub(crate) async fn ask<S: Service<u32, Response = u32>>(service: &mut S, requests: u32) {
    for number in 0..requests {
        let ready = poll_fn(|cx| service.poll_ready(cx)).await;
        let answer = match ready {
            Ok(()) => service.call(number).await,
            Err(error) => Err(error),
        };
        assert!(answer.is_ok_and(|answer| answer == 7));
    }
}
