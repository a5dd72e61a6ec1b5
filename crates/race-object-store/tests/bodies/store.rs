//! A store whose requests do what scripts say. It records what becomes of them.

use std::{
    fmt,
    future::poll_fn,
    ops::Range,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
    vec,
};

use bytes::Bytes;
use futures::{Stream, stream::BoxStream};
use object_store::{
    CopyOptions, Error, Extensions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result, path::Path,
};
use race_core::test::{VirtualClock, VirtualSleep};

use crate::{
    case::{Case, Tag},
    script::{End, Fail, Lie, Script},
};

/// A value of the caller, which each request must carry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark(pub(crate) u8);

#[derive(Clone)]
pub(crate) struct Scripted {
    pub(crate) clock: VirtualClock,
    case: Arc<Case>,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) started: u64,
    /// It, or its body, was not dropped.
    pub(crate) is_alive: bool,
    /// When what it waits for comes.
    pub(crate) due: Option<u64>,
    pub(crate) has_byte: bool,
    pub(crate) end: Option<Ended>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ended {
    /// The body ended, or broke off.
    End,
    Broke,
    /// There is no body, and `is_final` if no other request can do better.
    Refused {
        is_final: bool,
    },
}

impl Scripted {
    pub(crate) fn new(case: &Case) -> Self {
        Self {
            clock: VirtualClock::new(),
            case: Arc::new(case.clone()),
            requests: Arc::default(),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.elapsed().as_millis() as u64
    }

    pub(crate) fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        // It is locked while an assertion fails.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn version(&self, asked: Option<&str>) -> u8 {
        let object = &self.case.object;
        match asked {
            Some(version) if object.keeps_versions => version.parse().unwrap(),
            _ => u8::from(object.overwritten.is_some_and(|at| at <= self.now())),
        }
    }

    fn meta(&self, location: &Path, version: u8) -> ObjectMeta {
        let object = &self.case.object;
        let is_longer = version > 0 && !object.keeps_len;
        ObjectMeta {
            location: location.clone(),
            last_modified: Default::default(),
            size: object.len + u64::from(is_longer),
            e_tag: match object.e_tag {
                Tag::Strong => Some(format!("\"{version}\"")),
                // It may be that of other bytes.
                Tag::Weak => Some("W/\"tag\"".into()),
                Tag::None => None,
            },
            version: object.has_version.then(|| version.to_string()),
        }
    }

    /// The tag of the first version.
    pub(crate) fn e_tag(&self) -> Option<String> {
        self.meta(&Path::default(), 0).e_tag
    }

    /// Checks the request of a continuation.
    fn check(&self, asked: &GetOptions) {
        let first = self.meta(&Path::default(), 0);
        let is_strong = self.case.object.e_tag == Tag::Strong;
        assert_eq!(asked.if_match, first.e_tag.filter(|_| is_strong));
        assert_eq!(asked.version, first.version);
        assert_eq!(asked.if_none_match, None);
        assert_eq!(
            (asked.if_modified_since, asked.if_unmodified_since),
            (None, None)
        );
        assert!(!asked.head);
        let Some(GetRange::Bounded(range)) = &asked.range else {
            panic!("{asked:?}");
        };
        assert_eq!(range.end, self.case.range().end);
        assert!(!range.is_empty());
    }

    fn begin(&self) -> Alive {
        let mut requests = self.requests();
        requests.push(Request {
            started: self.now(),
            is_alive: true,
            due: None,
            has_byte: false,
            end: None,
        });
        let number = requests.len() - 1;
        let store = self.clone();
        Alive { store, number }
    }
}

/// A request that is not dropped.
struct Alive {
    store: Scripted,
    number: usize,
}

impl Alive {
    fn change(&self, change: impl FnOnce(&mut Request)) {
        change(&mut self.store.requests()[self.number]);
    }

    fn ends(&self, end: Ended) {
        self.change(|it| it.end = Some(end));
    }

    fn refuses(&self, is_final: bool) {
        self.ends(Ended::Refused { is_final });
    }

    /// Waits, and records until when.
    fn poll(&self, wait: &mut Option<(u64, VirtualSleep)>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some((due, sleep)) = wait {
            let polled = Pin::new(sleep).poll(cx);
            let due = polled.is_pending().then_some(*due);
            self.change(|it| it.due = due);
            ready!(polled);
            *wait = None;
        }
        Poll::Ready(())
    }

    fn wait_until(&self, due: u64) -> Option<(u64, VirtualSleep)> {
        let left = due.saturating_sub(self.store.now());
        let sleep = self.store.clock.sleep(Duration::from_millis(left));
        (left > 0).then_some((due, sleep))
    }

    fn error(&self) -> Error {
        Error::Generic {
            store: "Scripted",
            source: format!("request {}", self.number).into(),
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.change(|it| (it.is_alive, it.due) = (false, None));
    }
}

/// The byte of a version at a position.
pub(crate) fn byte(version: u8, position: u64) -> u8 {
    (position as u8).wrapping_mul(7) ^ (position >> 8) as u8 ^ version.wrapping_mul(0x5A)
}

pub(crate) fn bytes(version: u8, range: Range<u64>) -> Bytes {
    range.map(|position| byte(version, position)).collect()
}

struct ScriptedBody {
    alive: Option<Alive>,
    rest: Bytes,
    chunks: vec::IntoIter<(u64, usize)>,
    script: Script,
    /// The chunk that comes next, if it has been asked for.
    next: Option<usize>,
    wait: Option<(u64, VirtualSleep)>,
    /// When the chunk before came.
    latest: u64,
}

impl Stream for ScriptedBody {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        let this = self.get_mut();
        let Some(alive) = &this.alive else {
            return Poll::Ready(None);
        };
        if this.next.is_none() && !this.rest.is_empty() {
            if let Some((wait, len)) = this.chunks.next() {
                let from = if this.script.is_lazy {
                    alive.store.now()
                } else {
                    this.latest
                };
                this.wait = alive.wait_until(from + wait);
                this.latest = from + wait;
                this.next = Some(len);
            }
        }
        ready!(alive.poll(&mut this.wait, cx));
        let len = match (this.next.take(), this.script.end) {
            (Some(len), _) => len,
            (None, _) if this.rest.is_empty() => 0,
            (None, End::Rest) => this.rest.len(),
            (None, End::Hangs) => return Poll::Pending,
            (None, End::Early) => {
                this.rest.clear();
                0
            }
            (None, End::Breaks) => {
                let error = alive.error();
                alive.ends(Ended::Broke);
                this.alive = None;
                return Poll::Ready(Some(Err(error)));
            }
        };
        let is_over = this.rest.is_empty();
        if is_over {
            alive.ends(Ended::End);
            this.alive = None;
            return Poll::Ready(None);
        }
        let chunk = this.rest.split_to(len.min(this.rest.len()));
        alive.change(|it| it.has_byte |= !chunk.is_empty());
        Poll::Ready(Some(Ok(chunk)))
    }
}

#[async_trait::async_trait]
impl ObjectStore for Scripted {
    async fn get_opts(&self, location: &Path, asked: GetOptions) -> Result<GetResult> {
        let alive = self.begin();
        let is_first = alive.number == 0;
        let script = self.case.scripts[alive.number].clone();
        assert_eq!(asked.extensions.get::<Mark>(), Some(&Mark(7)));
        if !is_first {
            self.check(&asked);
        }
        let mut wait = alive.wait_until(alive.store.now() + script.headers);
        poll_fn(|cx| alive.poll(&mut wait, cx)).await;

        let (path, source) = (
            location.to_string(),
            format!("request {}", alive.number).into(),
        );
        if let Some(fail) = script.fails {
            alive.refuses(fail != Fail::Generic);
            return Err(match fail {
                Fail::Generic => alive.error(),
                Fail::NotFound => Error::NotFound { path, source },
                Fail::PermissionDenied => Error::PermissionDenied { path, source },
            });
        }
        let version = if is_first {
            0
        } else {
            self.version(asked.version.as_deref())
        };
        let mut meta = self.meta(location, version);
        if !self.case.object.ignores_conditions && !is_first {
            asked
                .check_preconditions(&meta)
                .inspect_err(|_| alive.refuses(true))?;
        }
        let mut range = match &asked.range {
            None => 0..meta.size,
            Some(range) => range.as_range(meta.size).unwrap(),
        };
        match script.lies {
            Some(Lie::Range) => range.start -= 1.min(range.start),
            Some(Lie::Size) => meta.size += 1,
            None => {}
        }
        let first = self.meta(location, 0);
        let is_same =
            (&meta.e_tag, &meta.version, meta.size) == (&first.e_tag, &first.version, first.size);
        let is_lie = script.lies == Some(Lie::Range) && asked.range.is_some();
        if !is_same || is_lie {
            alive.refuses(true);
        }
        let latest = self.now();
        let body = ScriptedBody {
            alive: Some(alive),
            rest: bytes(version, range.clone()),
            chunks: script.chunks.clone().into_iter(),
            script,
            next: None,
            wait: None,
            latest,
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(Box::pin(body)),
            meta,
            range,
            attributes: Default::default(),
            extensions: Extensions::default(),
        })
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        unreachable!("only read")
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        unreachable!("only read")
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        unreachable!("only read")
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        unreachable!("only read")
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        unreachable!("only read")
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        unreachable!("only read")
    }
}

impl fmt::Display for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}
