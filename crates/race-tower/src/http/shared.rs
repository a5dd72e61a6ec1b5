//! One body for several attempts: who reads it, and what was read so far.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::{Buf as _, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::{BoxError, recording::Recording};
use crate::AttemptEnd;

/// The body that the copies of a request share.
pub(super) struct Shared<B>(Mutex<State<B>>);

struct State<B> {
    original: Original<B>,
    /// `None` if it is of no use: the body is too long, or there are no copies that could need it.
    recording: Option<Recording>,
    reader: Option<Reader>,
    next_copy: u64,
    /// Of the copies that wait for their turn.
    waiting: Vec<(u64, Waker)>,
}

enum Original<B> {
    Open(Pin<Box<B>>),
    /// It was read to its end.
    Ended,
    /// It returned an error, or panicked.
    Failed,
}

/// The copy that reads the original.
struct Reader {
    copy: u64,
    end: Option<AttemptEnd>,
}

/// How a copy begins.
pub(super) enum Turn {
    /// It repeats what was recorded of a body that has ended.
    Replay {
        data: Bytes,
        trailers: Option<HeaderMap>,
    },
    /// It repeats what was recorded, and then reads the original.
    Read { prefix: Bytes },
    /// It cannot be sent.
    Never,
}

impl<B: Body> Shared<B> {
    /// Shares a body, whose first copy, 0, reads it.
    pub(super) fn new(body: B, limit: usize) -> Arc<Self> {
        let original = match body.is_end_stream() {
            true => Original::Ended,
            false => Original::Open(Box::pin(body)),
        };
        let reader = Some(Reader { copy: 0, end: None });
        Arc::new(Self(Mutex::new(State {
            original,
            recording: Some(Recording::new(limit)),
            reader,
            next_copy: 1,
            waiting: Vec::new(),
        })))
    }

    /// Makes another copy. `None` if it could never be sent.
    pub(super) fn copy(&self) -> Option<u64> {
        let mut state = self.state();
        state.recording.as_ref()?;
        state.next_copy += 1;
        Some(state.next_copy - 1)
    }

    /// Waits until a copy can be sent: the body has ended, or no copy reads it. Returns `false` if it
    /// never can.
    pub(super) fn poll_turn(&self, copy: u64, cx: &mut Context<'_>) -> Poll<bool> {
        let mut state = self.state();
        if state.has_turn() {
            return Poll::Ready(true);
        }
        if state.is_lost() {
            return Poll::Ready(false);
        }
        state.register(copy, cx.waker());
        // It may have ended before its waker was there.
        match state.has_turn() {
            true => Poll::Ready(true),
            false => Poll::Pending,
        }
    }

    /// Begins the attempt of a copy, which ends by `end`. If it is the turn of the copy to read, what
    /// reads the original on behalf of an attempt that is over is cut off.
    pub(super) fn begin(&self, copy: u64, end: impl FnOnce() -> AttemptEnd) -> Turn {
        let mut state = self.state();
        if !state.has_turn() {
            return Turn::Never;
        }
        let has_ended = matches!(state.original, Original::Ended);
        let Some(recording) = &mut state.recording else {
            return Turn::Never;
        };
        let data = recording.data();
        if has_ended {
            let trailers = recording.trailers().cloned();
            return Turn::Replay { data, trailers };
        }
        state.reader = Some(Reader {
            copy,
            end: Some(end()),
        });
        Turn::Read { prefix: data }
    }

    /// The attempt of the copy that reads begins, and ends by `end`, which is needed only if another
    /// copy could wait for it.
    pub(super) fn read_until(self: &Arc<Self>, copy: u64, end: impl FnOnce() -> AttemptEnd) {
        let mut state = self.state();
        let is_awaited = Arc::strong_count(self) > 1 && !state.is_settled();
        if let Some(reader) = state.reader.as_mut().filter(|it| it.copy == copy) {
            reader.end = is_awaited.then(end);
        }
    }

    /// Reads a frame of the original for a copy, and records it if there are other copies.
    pub(super) fn poll_frame(
        self: &Arc<Self>,
        copy: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>
    where
        B::Error: Into<BoxError>,
    {
        let mut state = self.state();
        if !state.is_reader(copy) {
            return Poll::Ready(Some(Err(TakenOver.into())));
        }
        if Arc::strong_count(self) == 1 {
            state.recording = None;
        }
        let polled = state.read(cx);
        let woken = match state.is_settled() {
            true => mem::take(&mut state.waiting),
            false => Vec::new(),
        };
        drop(state);
        woken.into_iter().for_each(|(_, waker)| waker.wake());
        polled
    }

    /// A copy that was taken over has not ended: it reads an error.
    pub(super) fn is_end_stream(&self, copy: u64) -> bool {
        let state = self.state();
        if !state.is_reader(copy) {
            return false;
        }
        match &state.original {
            Original::Open(body) => body.is_end_stream(),
            Original::Ended => true,
            Original::Failed => false,
        }
    }

    /// Returns what is left of the original for a copy.
    pub(super) fn size_hint(&self, copy: u64) -> SizeHint {
        let state = self.state();
        if !state.is_reader(copy) {
            return SizeHint::new();
        }
        match &state.original {
            Original::Open(body) => body.size_hint(),
            Original::Ended => SizeHint::with_exact(0),
            Original::Failed => SizeHint::new(),
        }
    }
}

impl<B> Shared<B> {
    fn state(&self) -> MutexGuard<'_, State<B>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy is dropped. If it was reading, it is the turn of another one.
    pub(super) fn drop_copy(&self, copy: u64) {
        let mut state = self.state();
        let mut woken = Vec::new();
        if state.is_reader(copy) {
            state.reader = None;
            woken = mem::take(&mut state.waiting);
        } else {
            state.waiting.retain(|&(waiting, _)| waiting != copy);
        }
        drop(state);
        woken.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

impl<B> State<B> {
    fn is_reader(&self, copy: u64) -> bool {
        self.reader.as_ref().is_some_and(|it| it.copy == copy)
    }

    /// Whether no further copy can be sent.
    fn is_lost(&self) -> bool {
        self.recording.is_none() || matches!(self.original, Original::Failed)
    }

    /// Whether a copy need not wait any longer.
    fn is_settled(&self) -> bool {
        self.is_lost() || matches!(self.original, Original::Ended)
    }

    /// Whether another copy than the reader may be sent.
    fn has_turn(&self) -> bool {
        let ends = self.reader.as_ref().map(|it| it.end.as_ref());
        let is_free = match ends {
            None => true,
            Some(end) => end.is_some_and(AttemptEnd::has_ended),
        };
        !self.is_lost() && (is_free || matches!(self.original, Original::Ended))
    }

    fn register(&mut self, copy: u64, waker: &Waker) {
        if let Some(end) = self.reader.as_ref().and_then(|it| it.end.as_ref()) {
            end.register(waker);
        }
        match self.waiting.iter_mut().find(|it| it.0 == copy) {
            Some((_, earlier)) => earlier.clone_from(waker),
            None => self.waiting.push((copy, waker.clone())),
        }
    }
}

impl<B: Body<Error: Into<BoxError>>> State<B> {
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        // It stays so after a panic.
        let mut body = match mem::replace(&mut self.original, Original::Failed) {
            Original::Open(body) => body,
            over => {
                self.original = over;
                return Poll::Ready(None);
            }
        };
        let frame = match body.as_mut().poll_frame(cx) {
            Poll::Pending => {
                self.original = Original::Open(body);
                return Poll::Pending;
            }
            Poll::Ready(None) => {
                self.original = Original::Ended;
                return Poll::Ready(None);
            }
            Poll::Ready(Some(Err(error))) => {
                self.recording = None;
                return Poll::Ready(Some(Err(error.into())));
            }
            Poll::Ready(Some(Ok(frame))) => {
                frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
            }
        };
        self.record(&frame);
        // A consumer that knows the end does not ask for it.
        self.original = match frame.is_trailers() || body.is_end_stream() {
            true => Original::Ended,
            false => Original::Open(body),
        };
        Poll::Ready(Some(Ok(frame)))
    }

    fn record(&mut self, frame: &Frame<Bytes>) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        let recorded = match (frame.data_ref(), frame.trailers_ref()) {
            (Some(data), _) => recording.push(data),
            (None, Some(trailers)) => recording.set_trailers(trailers),
            (None, None) => Ok(()),
        };
        if recorded.is_err() {
            self.recording = None;
        }
    }
}

/// The attempt that read this body has failed, and another one reads it.
#[derive(Debug)]
struct TakenOver;

impl std::fmt::Display for TakenOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the attempt is over: another one reads the body of the request")
    }
}

impl std::error::Error for TakenOver {}
