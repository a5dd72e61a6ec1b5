use std::borrow::Cow;

#[cfg(any(feature = "lz4", feature = "zstd"))]
use crate::Codec;
use crate::{Compression, Delivery, Task};

/// Payloads of fewer bytes are not compressed.
#[cfg(any(feature = "lz4", feature = "zstd"))]
const SMALL: usize = 256;

/// What a client does with payloads. [`Builder`](crate::Builder) documents it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payloads {
    #[cfg(any(feature = "lz4", feature = "zstd"))]
    codec: Option<Codec>,
    keep_compressed: bool,
    limit: usize,
}

impl Default for Payloads {
    fn default() -> Self {
        Self {
            #[cfg(any(feature = "lz4", feature = "zstd"))]
            codec: None,
            keep_compressed: false,
            limit: 16 << 20,
        }
    }
}

impl Payloads {
    #[cfg(any(feature = "lz4", feature = "zstd"))]
    pub(crate) fn compress(&mut self, codec: Codec) {
        self.codec = Some(codec);
    }

    pub(crate) fn keep_compressed(&mut self) {
        self.keep_compressed = true;
    }

    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// What the server need not decompress. `None`: anything.
    pub(crate) fn accepted(self) -> Option<&'static [&'static str]> {
        /// What this client decompresses.
        const ACCEPTED: &[&str] = &[
            "none",
            #[cfg(feature = "lz4")]
            "lz4",
            #[cfg(feature = "zstd")]
            "zstd",
        ];
        let all = ["none", "lz4", "zstd"];
        Some(ACCEPTED).filter(|_| !self.keep_compressed && ACCEPTED != all)
    }

    /// The payload of a task to be sent, and its compression.
    pub(crate) fn compressed(self, task: &Task) -> (Cow<'_, [u8]>, Compression) {
        let payload = &task.payload;
        #[cfg(any(feature = "lz4", feature = "zstd"))]
        if let Some(codec) = self.codec {
            if task.compression == Compression::None && payload.len() >= SMALL {
                let compressed = codec.compress(payload);
                if compressed.len() < payload.len() {
                    return (Cow::Owned(compressed), codec.compression());
                }
            }
        }
        (Cow::Borrowed(payload), task.compression.clone())
    }

    /// The same delivery with its payload decompressed; `None` if it remains as it is.
    pub(crate) fn inflated(self, delivery: &Delivery) -> Result<Option<Delivery>, String> {
        #[cfg(any(feature = "lz4", feature = "zstd"))]
        if !self.keep_compressed {
            if let Some(codec) = Codec::of(delivery.compression()) {
                let payload = codec.decompress(delivery.payload(), self.limit)?;
                return Ok(Some(delivery.with_payload(payload)));
            }
        }
        let _ = (self.limit, delivery);
        Ok(None)
    }
}
