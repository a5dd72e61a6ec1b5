//! Messages as bytes: a length of 4 bytes, little-endian, and as many bytes of `postcard`.

use std::io::{self, ErrorKind};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::{
    bytes::BytesMut,
    codec::{Decoder as _, LengthDelimitedCodec},
};

use crate::ShardId;

/// The longest frame in bytes, without its length.
pub(super) const LONGEST: usize = 8 << 20;

/// A read has room for this many bytes.
const READ: usize = 32 << 10;

/// A frame of a link after the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Frame<M> {
    /// A message of a shard.
    Message(ShardId, M),
    /// Asks for the wall clock.
    ClockRequest,
    /// The wall clock in Unix nanoseconds.
    ClockReply(u64),
}

/// A message does not fit into a frame. It has this many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message has {0} bytes, and a frame at most {LONGEST}")]
pub(crate) struct FrameTooLong(usize);

/// Appends a frame. If it is too long, nothing is appended.
pub(super) fn append<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), FrameTooLong> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    postcard::to_io(value, &mut *out).expect("a message can be encoded, and a Vec takes all");
    let length = out.len() - start - 4;
    match u32::try_from(length) {
        Ok(prefix) if length <= LONGEST => {
            out[start..start + 4].copy_from_slice(&prefix.to_le_bytes());
            Ok(())
        }
        _ => {
            out.truncate(start);
            Err(FrameTooLong(length))
        }
    }
}

/// Decodes the content of a frame. It must have nothing else.
pub(super) fn decode<T: DeserializeOwned>(content: &[u8]) -> Result<T, postcard::Error> {
    match postcard::take_from_bytes(content)? {
        (value, []) => Ok(value),
        _ => Err(postcard::Error::DeserializeBadEncoding),
    }
}

/// Reads frames.
#[derive(Debug)]
pub(super) struct FrameReader<R> {
    reader: R,
    codec: LengthDelimitedCodec,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads frames of at most this many bytes.
    pub(super) fn new(reader: R, longest: usize) -> Self {
        let mut codec = LengthDelimitedCodec::builder();
        Self {
            reader,
            codec: codec.little_endian().max_frame_length(longest).new_codec(),
            buffer: BytesMut::new(),
        }
    }

    /// From now on, frames can have this many bytes.
    pub(super) fn allow(&mut self, longest: usize) {
        self.codec.set_max_frame_length(longest);
    }

    /// Returns the content of the next frame. `None`: the other side has ended the link, perhaps in
    /// the middle of a frame, which is lost, or without the farewell of TLS.
    ///
    /// # Errors
    ///
    /// If the link is broken, or the frame is too long.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub(super) async fn next(&mut self) -> io::Result<Option<BytesMut>> {
        loop {
            if let Some(content) = self.codec.decode(&mut self.buffer)? {
                return Ok(Some(content));
            }
            self.buffer.reserve(READ);
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    use tokio::io::ReadBuf;

    use super::*;

    fn framed(contents: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        for content in contents {
            append(content, &mut out).unwrap();
        }
        out
    }

    #[test]
    fn a_frame_is_its_length_and_its_content() {
        assert_eq!(framed(&["ab", ""]), b"\x03\0\0\0\x02ab\x01\0\0\0\0");
        assert_eq!(decode(b"\x02ab"), Ok("ab".to_owned()));
        assert!(decode::<String>(b"\x02abc").is_err());
        assert!(decode::<String>(b"\x02a").is_err());
    }

    #[test]
    fn a_message_that_is_too_long_leaves_the_bytes_as_they_were() {
        let mut out = framed(&["ab"]);
        let longest = "x".repeat(LONGEST - 4);
        append(&longest, &mut out).unwrap();
        let before = out.clone();
        let error = append(&(longest + "x"), &mut out).unwrap_err();
        assert_eq!(error, FrameTooLong(LONGEST + 1));
        assert_eq!(out, before);
    }

    #[tokio::test]
    async fn frames_are_read_however_they_are_cut() {
        let contents = ["first", "", "a longer one"];
        let bytes = framed(&contents);
        for size in 1..=bytes.len() {
            let mut reader = pieces(&bytes, size);
            let mut frames = FrameReader::new(&mut reader, 20);
            for expected in contents {
                let content = frames.next().await.unwrap().unwrap();
                assert_eq!(decode::<String>(&content).unwrap(), expected);
            }
            assert!(frames.next().await.unwrap().is_none());
        }
    }

    /// Returns a reader that returns at most `size` bytes at once.
    fn pieces(bytes: &[u8], size: usize) -> impl AsyncRead + Unpin {
        let (reader, mut writer) = tokio::io::duplex(size);
        let bytes = bytes.to_vec();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt as _;

            writer.write_all(&bytes).await.unwrap();
        });
        reader
    }

    #[tokio::test]
    async fn a_part_of_a_frame_is_not_returned() {
        let bytes = framed(&["ab"]);
        for end in 0..bytes.len() {
            let mut frames = FrameReader::new(&bytes[..end], 20);
            assert!(frames.next().await.unwrap().is_none(), "{end}");
        }
    }

    #[tokio::test]
    async fn end_without_a_farewell_is_an_end() {
        let bytes = framed(&["ab"]);
        let reader = bytes.as_slice().chain(Broken(ErrorKind::UnexpectedEof));
        let mut frames = FrameReader::new(reader, 20);
        assert!(frames.next().await.unwrap().is_some());
        assert!(frames.next().await.unwrap().is_none());
        let mut frames = FrameReader::new(Broken(ErrorKind::ConnectionReset), 20);
        let error = frames.next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }

    /// A connection that ends with an error.
    struct Broken(ErrorKind);

    impl AsyncRead for Broken {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Ready(Err(self.0.into()))
        }
    }

    #[tokio::test]
    async fn a_long_frame_is_an_error() {
        let long = 21_u32.to_le_bytes();
        let error = FrameReader::new(&long[..], 20).next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let mut frames = FrameReader::new(&long[..], 20);
        frames.allow(21);
        assert!(frames.next().await.unwrap().is_none());
    }
}
