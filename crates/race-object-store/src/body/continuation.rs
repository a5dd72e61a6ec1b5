//! The request for the rest of a body.

use std::{future::poll_fn, ops::Range, sync::Arc};

use bytes::Bytes;
use object_store::{
    Error, GetOptions, GetRange, GetResult, GetResultPayload, ObjectMeta, ObjectStore, Result,
    path::Path,
};
use race_core::Verdict;

use super::{Body, first_byte::poll_byte};
use crate::classify::Classifier;

/// A body and its next chunk, which has a byte.
pub(super) struct Progress {
    pub(super) chunk: Bytes,
    pub(super) body: Body,
}

/// How the rest of a body is requested. It belongs to one version of an object.
#[derive(Debug)]
pub(crate) struct Rest {
    location: Path,
    /// Without a range.
    options: GetOptions,
    meta: ObjectMeta,
    /// Of the first answer.
    range: Range<u64>,
}

impl Rest {
    /// Returns the request for the rest of an answer. `None` if its body is empty, and if nothing
    /// ensures that the rest is of the same version: it has neither a strong ETag nor a version.
    ///
    /// The conditions of the caller were met by the first answer, and do not apply to the rest.
    pub(crate) fn of(location: &Path, asked: GetOptions, answer: &GetResult) -> Option<Self> {
        let meta = answer.meta.clone();
        let e_tag = meta.e_tag.clone().filter(|e_tag| is_strong(e_tag));
        let has_rest = !answer.range.is_empty();
        if !has_rest || e_tag.is_none() && meta.version.is_none() {
            return None;
        }
        let options = GetOptions {
            if_match: e_tag,
            version: meta.version.clone().or(asked.version),
            extensions: asked.extensions,
            ..GetOptions::default()
        };
        Some(Self {
            location: location.clone(),
            options,
            meta,
            range: answer.range.clone(),
        })
    }

    /// Returns the number of bytes in the whole range.
    pub(super) fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Requests what follows the first `delivered` bytes, which must not be all. Resolves when its
    /// first byte is there.
    pub(super) async fn request<S: ObjectStore>(
        self: Arc<Self>,
        inner: Arc<S>,
        classifier: Classifier,
        delivered: u64,
    ) -> Result<Progress, Verdict> {
        let range = self.range.start + delivered..self.range.end;
        let options = self.options.clone();
        let options = options.with_range(Some(GetRange::Bounded(range.clone())));
        let answer = inner.get_opts(&self.location, options).await;
        let answer = answer.map_err(|error| verdict(&classifier, &error))?;
        if answer.range != range || !self.is_same(&answer.meta) {
            return Err(Verdict::NoMoreStarts);
        }
        #[allow(
            irrefutable_let_patterns,
            reason = "whether there are files depends on a feature of `object_store`"
        )]
        let GetResultPayload::Stream(mut body) = answer.payload else {
            return Err(Verdict::NoMoreStarts);
        };
        match poll_fn(|cx| poll_byte(body.as_mut(), cx)).await {
            Ok(Some(chunk)) => Ok(Progress { chunk, body }),
            Ok(None) => Err(Verdict::Retryable),
            Err(error) => Err(verdict(&classifier, &error)),
        }
    }

    /// Whether an answer is of the version of the first one. A store may ignore conditions, so all
    /// that identifies a version is compared.
    fn is_same(&self, meta: &ObjectMeta) -> bool {
        let first = &self.meta;
        (&meta.e_tag, &meta.version, meta.size) == (&first.e_tag, &first.version, first.size)
    }
}

/// Whether a tag identifies the bytes of an object. `*` would match any object.
fn is_strong(e_tag: &str) -> bool {
    !e_tag.is_empty() && e_tag != "*" && !e_tag.starts_with("W/")
}

/// Returns what the error of a continuation means for further ones. An answer would be the same
/// again, and another version of the object does not become the first one again.
fn verdict(classifier: &Classifier, error: &Error) -> Verdict {
    if let Error::Precondition { .. } | Error::NotModified { .. } = error {
        return Verdict::NoMoreStarts;
    }
    match classifier.verdict(error) {
        Verdict::Accept | Verdict::Fatal => Verdict::NoMoreStarts,
        verdict => verdict,
    }
}

#[cfg(test)]
mod tests;
