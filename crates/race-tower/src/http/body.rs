use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::{
    BoxError,
    shared::{Shared, Turn},
};
use crate::AttemptEnd;

/// The body of a request that can be sent again, made by [`ReplayLayer`](super::ReplayLayer).
///
/// The first attempt reads the original body and sends it at once. What it reads is recorded, up to
/// a limit, as long as another attempt could need it. Another attempt can be sent if
///
/// - the body has ended within the limit: it is sent from memory, trailers included; or
/// - the attempt that read it has failed, or has dropped the body, and what it read is within the
///   limit: the recorded part is sent from memory, and then the original is read further. If the
///   failed attempt still had the body, it reads an error.
///
/// Until then another attempt waits, so a call whose body stays open until an answer comes, such as
/// a bidirectional one, is never hedged. After an error of the body, or above the limit, the
/// request is not sent again, and the memory is freed.
///
/// The chunks of a body that is sent from memory differ from those of the original. The memory is
/// at most the limit, and as much again while attempts send it; the first chunk is shared and not
/// copied, so if it is a part of a larger buffer, that buffer is kept.
///
/// # Errors
///
/// Those of the original body, boxed.
pub struct ReplayBody<B> {
    shared: Arc<Shared<B>>,
    copy: u64,
    state: State,
}

enum State {
    /// Its attempt has not begun.
    Waiting,
    /// What was recorded before its turn, if it was not sent yet, and then the original.
    Reads {
        prefix: Option<Bytes>,
    },
    Replays {
        data: Option<Bytes>,
        trailers: Option<HeaderMap>,
    },
    Never,
}

impl<B: Body> ReplayBody<B> {
    /// Wraps a body. At most `limit` bytes of it are recorded.
    pub fn new(body: B, limit: usize) -> Self {
        Self {
            shared: Shared::new(body, limit),
            copy: 0,
            state: State::Reads { prefix: None },
        }
    }

    /// Returns the same body for another attempt. `None` if it was found that it cannot be sent
    /// again.
    pub(super) fn again(&self) -> Option<Self> {
        let copy = self.shared.copy()?;
        Some(Self {
            shared: self.shared.clone(),
            copy,
            state: State::Waiting,
        })
    }

    /// Waits until it can be sent. Returns `false` if it never can.
    pub(super) fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        match self.state {
            State::Waiting => self.shared.poll_turn(self.copy, cx),
            State::Reads { .. } | State::Replays { .. } => Poll::Ready(true),
            State::Never => Poll::Ready(false),
        }
    }

    /// The attempt begins, and ends by `end`.
    pub(super) fn begin(&mut self, end: impl FnOnce() -> AttemptEnd) {
        match self.state {
            State::Waiting => {}
            State::Reads { .. } => return self.shared.read_until(self.copy, end),
            State::Replays { .. } | State::Never => return,
        }
        self.state = match self.shared.begin(self.copy, end) {
            Turn::Replay { data, trailers } => State::Replays {
                data: non_empty(data),
                trailers,
            },
            Turn::Read { prefix } => State::Reads {
                prefix: non_empty(prefix),
            },
            Turn::Never => State::Never,
        };
    }
}

fn non_empty(data: Bytes) -> Option<Bytes> {
    Some(data).filter(|data| !data.is_empty())
}

impl<B: Body<Error: Into<BoxError>>> Body for ReplayBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = match &mut this.state {
            State::Reads { prefix } => match prefix.take() {
                Some(prefix) => Frame::data(prefix),
                None => return this.shared.poll_frame(this.copy, cx),
            },
            State::Replays { data, trailers } => {
                let data = data.take().map(Frame::data);
                match data.or_else(|| trailers.take().map(Frame::trailers)) {
                    Some(frame) => frame,
                    None => return Poll::Ready(None),
                }
            }
            State::Waiting | State::Never => {
                let error = "the body of a request was sent before its attempt began";
                return Poll::Ready(Some(Err(error.into())));
            }
        };
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Reads { prefix } => prefix.is_none() && self.shared.is_end_stream(self.copy),
            State::Replays { data, trailers } => data.is_none() && trailers.is_none(),
            State::Waiting | State::Never => false,
        }
    }

    /// A body of a known length has no trailers for some clients, so it is unknown if there are
    /// some.
    fn size_hint(&self) -> SizeHint {
        let (first, rest) = match &self.state {
            State::Reads { prefix } => (prefix, self.shared.size_hint(self.copy)),
            State::Replays { data, trailers } => match trailers {
                Some(_) => (data, SizeHint::new()),
                None => (data, SizeHint::with_exact(0)),
            },
            State::Waiting | State::Never => return SizeHint::new(),
        };
        let first = first.as_ref().map_or(0, |data| data.len() as u64);
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper().and_then(|it| it.checked_add(first)) {
            hint.set_upper(upper);
        }
        hint.set_lower(rest.lower().saturating_add(first));
        hint
    }
}

impl<B> Drop for ReplayBody<B> {
    fn drop(&mut self) {
        self.shared.drop_copy(self.copy);
    }
}

impl<B> fmt::Debug for ReplayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Waiting => "waiting",
            State::Reads { .. } => "reads the original",
            State::Replays { .. } => "replays",
            State::Never => "never sent",
        };
        f.debug_struct("ReplayBody")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
