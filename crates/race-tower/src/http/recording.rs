//! What an attempt has read of a body, within a limit.

use bytes::Bytes;
use http::HeaderMap;

/// The data and the trailers of a body so far. Their bytes are at most the limit.
#[derive(Debug)]
pub(super) struct Recording {
    limit: usize,
    /// The chunk of a body that has one so far, or what a copy has taken: sharing it costs nothing.
    head: Bytes,
    /// What follows, in one piece, because many small chunks would cost more than their bytes.
    tail: Vec<u8>,
    trailers: Option<HeaderMap>,
}

/// The body is longer than the limit.
#[derive(Debug, PartialEq)]
pub(super) struct TooLong;

impl Recording {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            head: Bytes::new(),
            tail: Vec::new(),
            trailers: None,
        }
    }

    fn left(&self) -> usize {
        self.limit - self.head.len() - self.tail.len()
    }

    /// Records a chunk of data.
    pub(super) fn push(&mut self, chunk: &Bytes) -> Result<(), TooLong> {
        let left = self.left();
        if chunk.len() > left {
            return Err(TooLong);
        }
        if self.head.is_empty() && self.tail.is_empty() {
            self.head = chunk.clone();
            return Ok(());
        }
        if chunk.len() > self.tail.capacity() - self.tail.len() {
            // Twice as much as there is, so that copying stays linear, and never above the limit.
            let more = chunk.len().max(self.tail.len());
            self.tail.reserve_exact(more.min(left));
        }
        self.tail.extend_from_slice(chunk);
        Ok(())
    }

    /// Records the trailers, whose names and values count as bytes.
    pub(super) fn set_trailers(&mut self, trailers: &HeaderMap) -> Result<(), TooLong> {
        let bytes = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            name.as_str().len() + value.as_bytes().len()
        };
        if trailers.iter().map(bytes).sum::<usize>() > self.left() {
            return Err(TooLong);
        }
        self.trailers = Some(trailers.clone());
        Ok(())
    }

    /// Returns the data, which copies then share.
    pub(super) fn data(&mut self) -> Bytes {
        if !self.tail.is_empty() {
            let tail = std::mem::take(&mut self.tail);
            self.head = match self.head.is_empty() {
                true => tail.into(),
                false => [&*self.head, &*tail].concat().into(),
            };
        }
        self.head.clone()
    }

    pub(super) fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }
}

#[cfg(test)]
mod tests;
