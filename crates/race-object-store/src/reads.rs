//! What is hedged, and what is passed on.

use std::{fmt, ops::Range};

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::stream::BoxStream;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, path::Path,
};
use race_core::{
    Race, RaceError, Timer,
    observe::{Clock, Observer},
};

use crate::{
    Delays, GenericHedgedStore, ReadClass, TimeoutError,
    body::{self, Rest},
    odd_range,
    store::Options,
};

impl<S, T, D, O> GenericHedgedStore<S, T, D, O>
where
    T: Timer + Clock + Clone + Unpin,
    D: Delays<T>,
    O: Observer + Clone,
{
    /// Races attempts of a read.
    async fn hedge<V, R, F>(&self, class: ReadClass, path: &Path, attempt: R) -> Result<V>
    where
        R: FnMut(usize) -> F,
        F: Future<Output = Result<V>>,
    {
        let options = &self.options;
        let delay = self.delays.delay(class);
        let race = Race::at(self.timer.clone())
            .from_fn(delay, attempt)
            .options(&options.race)
            .budget(options.budget.clone())
            .observer(self.observer.clone());
        #[cfg(feature = "tracing")]
        let race = race.poll_in_spans();
        match race.first_judged(&options.classify).await {
            Ok(won) => won.output,
            Err(error) => Err(options.error(path, error)),
        }
    }
}

impl Options {
    /// Whether the body of this GET is hedged. A HEAD has none.
    fn hedges_bodies(&self, asked: &GetOptions) -> bool {
        self.hedge_bodies && !asked.head && self.max_continuations() > 0
    }

    /// The continuations of one body. They need a place beside the body.
    pub(crate) fn max_continuations(&self) -> usize {
        match self.race.max_in_flight {
            Some(..=1) => 0,
            _ => self.race.max_attempts.unwrap_or(usize::MAX) - 1,
        }
    }

    /// Returns the error of a read: that of the last attempt that returned one, or a timeout.
    fn error(
        &self,
        path: &Path,
        error: RaceError<usize, object_store::Error>,
    ) -> object_store::Error {
        let path = path.clone();
        let missed_deadline = matches!(error, RaceError::Deadline { .. });
        match (error.into_last_error(), self.race.deadline) {
            (last, Some(deadline)) if missed_deadline => TimeoutError::Deadline {
                path,
                deadline,
                last: last.map(Box::new),
            }
            .into(),
            (Some(error), _) => error,
            (None, _) => TimeoutError::Attempts {
                path,
                timeout: self.race.attempt_timeout.unwrap_or_default(),
            }
            .into(),
        }
    }
}

/// Reads are hedged; everything else is passed on.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S, T, D, O> ObjectStore for GenericHedgedStore<S, T, D, O>
where
    S: ObjectStore,
    T: Timer + Clock + Clone + Unpin + Send + Sync + 'static,
    D: Delays<T>,
    O: Observer + Clone + Send + Sync + 'static,
{
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if odd_range::is_rejected(&options) {
            return self.inner.get_opts(location, options).await;
        }
        let class = ReadClass::of_get(&options);
        let asked = self
            .options
            .hedges_bodies(&options)
            .then(|| options.clone());
        let attempt = |_| {
            let options = options.clone();
            async move {
                let has_body = !options.head;
                let answer = self.inner.get_opts(location, options).await?;
                match has_body {
                    true => body::begin(answer).await,
                    false => Ok(answer),
                }
            }
        };
        let answer = self.hedge(class, location, attempt).await?;
        let rest = asked.and_then(|asked| Rest::of(location, asked, &answer));
        Ok(match rest {
            Some(rest) => body::watch(self, class, rest, answer),
            None => answer,
        })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if odd_range::are_odd(ranges) {
            return self.inner.get_ranges(location, ranges).await;
        }
        let attempt = |_| self.inner.get_ranges(location, ranges);
        self.hedge(ReadClass::of_ranges(ranges), location, attempt)
            .await
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

impl<S: fmt::Display, T, D, O> fmt::Display for GenericHedgedStore<S, T, D, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HedgedStore({})", self.inner)
    }
}
