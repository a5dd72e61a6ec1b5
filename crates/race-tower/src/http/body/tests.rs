use std::{
    convert::Infallible,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures::stream;
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};

use super::ReplayBody;
use crate::AttemptEnd;

/// A chunk of ten bytes, which counts while it is in memory.
struct Chunk(Arc<AtomicUsize>);

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        b"0123456789"
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

type Endless = StreamBody<stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

/// A body without an end, and how many of its chunks are in memory.
fn endless() -> (Endless, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let chunks = stream::repeat_with(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(Frame::data(Bytes::from_owner(Chunk(counted.clone()))))
    });
    (StreamBody::new(Box::pin(chunks)), count)
}

fn read(body: &mut ReplayBody<Endless>) {
    let mut frame = pin!(body.frame());
    let polled = frame.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Some(Ok(_)))));
}

#[test]
fn memory_is_freed_above_the_limit() {
    let (endless, chunks) = endless();
    let mut body = ReplayBody::new(endless, 15);
    let mut copy = body.again().expect("nothing was read");
    read(&mut body);
    assert_eq!(chunks.load(Ordering::Relaxed), 1, "it is recorded");
    let cx = &mut Context::from_waker(Waker::noop());
    assert_eq!(copy.poll_turn(cx), Poll::Pending);
    read(&mut body);
    assert_eq!(chunks.load(Ordering::Relaxed), 0);
    assert_eq!(copy.poll_turn(cx), Poll::Ready(false));
    assert!(body.again().is_none());
}

#[test]
fn nothing_is_recorded_without_a_copy() {
    let (endless, chunks) = endless();
    let mut body = ReplayBody::new(endless, 1000);
    let copy = body.again();
    read(&mut body);
    assert_eq!(chunks.load(Ordering::Relaxed), 1);
    drop(copy);
    read(&mut body);
    assert_eq!(chunks.load(Ordering::Relaxed), 0);
    assert!(body.again().is_none());
}

#[test]
fn body_without_data_is_known_to_be_empty() {
    let body = ReplayBody::new(Empty::<Bytes>::new(), 0);
    let mut copy = body.again().expect("it fits");
    let cx = &mut Context::from_waker(Waker::noop());
    assert_eq!(copy.poll_turn(cx), Poll::Ready(true));
    copy.begin(|| AttemptEnd::new().0);
    for body in [body, copy] {
        assert!(body.is_end_stream());
        assert_eq!(body.size_hint().exact(), Some(0));
    }
}

#[test]
fn copies_have_the_length_of_the_original() {
    let body = ReplayBody::new(Full::new(Bytes::from_static(b"body")), 100);
    assert_eq!(body.size_hint().exact(), Some(4));
    // No attempt reads it: the copy takes it over.
    let mut taken_over = body.again().expect("it fits");
    drop(body);
    taken_over.begin(|| AttemptEnd::new().0);
    assert_eq!(taken_over.size_hint().exact(), Some(4));
    assert!(!taken_over.is_end_stream());
}

#[test]
fn copy_that_has_not_begun_reads_nothing() {
    let body = ReplayBody::new(Full::new(Bytes::from_static(b"body")), 100);
    let copy = body.again().expect("it fits");
    let mut copy = pin!(copy.collect());
    let polled = copy.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(_))));
}

/// A client asks for the end right after a chunk. Until then, another attempt may have read the rest.
#[test]
fn body_that_was_taken_over_has_not_ended() {
    let chunks = ["a", "b"].map(|chunk| Ok::<_, Infallible>(Frame::data(Bytes::from(chunk))));
    let mut body = ReplayBody::new(StreamBody::new(stream::iter(chunks)), 100);
    let mut copy = body.again().expect("nothing was read");
    let mut first = None;
    body.begin(|| {
        let (end, running) = AttemptEnd::new();
        first = Some(running);
        end
    });
    let frame = futures::executor::block_on(body.frame());
    assert!(matches!(frame, Some(Ok(_))));

    drop(first); // the first attempt has failed, but the body is still being sent
    copy.begin(|| AttemptEnd::new().0);
    let sent = futures::executor::block_on(copy.collect());
    assert_eq!(sent.expect("it has no error").to_bytes(), "ab");

    assert!(!body.is_end_stream(), "the request would look whole");
    assert_eq!(body.size_hint().exact(), None);
    assert!(matches!(
        futures::executor::block_on(body.frame()),
        Some(Err(_))
    ));
}
