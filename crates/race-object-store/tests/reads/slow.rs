//! A store in memory whose reads take given times and fail in given ways. It records when each read
//! starts and is dropped.

use std::{
    fmt,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, stream, stream::BoxStream};
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, memory::InMemory, path::Path,
};
use race_core::test::{VirtualClock, VirtualTimer};
use race_object_store::{Delays, GenericHedgedStore};

pub(crate) use crate::kind::Kind;

pub(crate) const TEXT: &str = "the quick brown fox";

/// Bodies come in chunks of this length.
pub(crate) const CHUNK: usize = 4;

/// Never answers.
pub(crate) const HANGS: u64 = u64::MAX;

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What happens to one read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// The time until the headers or the error.
    headers: u64,
    /// The time before each chunk of the body.
    chunk: u64,
    fails: Option<Kind>,
    /// The body breaks off instead of yielding this chunk.
    breaks_at: Option<usize>,
    /// The body begins with an empty chunk.
    hesitates: bool,
    /// The body waits for so long before this chunk.
    stalls_at: Option<(usize, u64)>,
    /// The answer has this tag instead of its own.
    e_tag: Option<Option<&'static str>>,
    ignores_conditions: bool,
}

pub(crate) fn after(headers: u64) -> Step {
    Step {
        headers,
        ..Step::default()
    }
}

impl Step {
    pub(crate) fn chunks(self, chunk: u64) -> Self {
        Self { chunk, ..self }
    }

    pub(crate) fn fails(self, kind: Kind) -> Self {
        let fails = Some(kind);
        Self { fails, ..self }
    }

    pub(crate) fn breaks_at(self, chunk: usize) -> Self {
        let breaks_at = Some(chunk);
        Self { breaks_at, ..self }
    }

    pub(crate) fn stalls_at(self, chunk: usize, millis: u64) -> Self {
        let stalls_at = Some((chunk, millis));
        Self { stalls_at, ..self }
    }

    pub(crate) fn tagged(self, e_tag: Option<&'static str>) -> Self {
        let e_tag = Some(e_tag);
        Self { e_tag, ..self }
    }

    pub(crate) fn ignores_conditions(self) -> Self {
        let ignores_conditions = true;
        Self {
            ignores_conditions,
            ..self
        }
    }

    /// The time before a chunk.
    fn wait_before(&self, chunk: usize) -> u64 {
        match self.stalls_at {
            Some((stalled, millis)) if stalled == chunk => millis,
            _ => self.chunk,
        }
    }

    pub(crate) fn hesitates(self) -> Self {
        let hesitates = true;
        Self { hesitates, ..self }
    }
}

/// The object "a" is [`TEXT`], "empty" is empty. Clones share everything.
#[derive(Clone)]
pub(crate) struct Slow {
    pub(crate) clock: VirtualClock,
    pub(crate) memory: Arc<InMemory>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    steps: Vec<Step>,
    /// When each read began.
    reads: Vec<u64>,
    /// What each GET asked for.
    asked: Vec<GetOptions>,
    /// When reads were dropped before their end, by number.
    dropped: Vec<(usize, u64)>,
}

impl Slow {
    /// Each read takes the next step.
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let memory = InMemory::new();
        for (path, text) in [("a", TEXT), ("empty", "")] {
            let put = memory.put(&path.into(), text.into()).now_or_never();
            put.unwrap().unwrap();
        }
        let state = State {
            steps: steps.into_iter().collect(),
            ..State::default()
        };
        Self {
            clock: VirtualClock::new(),
            memory: Arc::new(memory),
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Hedges it after 50 ms.
    pub(crate) fn hedged(&self) -> GenericHedgedStore<Self, VirtualTimer, Duration> {
        self.hedged_by(ms(50))
    }

    pub(crate) fn hedged_by<D: Delays<VirtualTimer>>(
        &self,
        delays: D,
    ) -> GenericHedgedStore<Self, VirtualTimer, D> {
        GenericHedgedStore::with_timer(self.clone(), self.clock.timer(), delays)
    }

    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        self.clock.run(future).unwrap()
    }

    /// The bytes of "a", read through `store`.
    pub(crate) fn bytes(&self, store: &dyn ObjectStore) -> Result<Bytes> {
        self.run(async { store.get(&"a".into()).await?.bytes().await })
    }

    pub(crate) fn millis(&self) -> u64 {
        self.clock.elapsed().as_millis() as u64
    }

    /// When each read began.
    pub(crate) fn reads(&self) -> Vec<u64> {
        self.state().reads.clone()
    }

    pub(crate) fn asked(&self) -> Vec<GetOptions> {
        self.state().asked.clone()
    }

    pub(crate) fn dropped(&self) -> Vec<(usize, u64)> {
        self.state().dropped.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn begin(&self) -> (Unfinished, Step) {
        let now = self.millis();
        let mut state = self.state();
        let number = state.reads.len();
        state.reads.push(now);
        let step = state.steps.get(number).cloned().unwrap_or_default();
        let store = self.clone();
        (Unfinished { store, number }, step)
    }

    /// Waits for the headers, or fails.
    async fn answer(&self, step: &Step, number: usize) -> Result<()> {
        self.wait(step.headers).await;
        match step.fails {
            Some(kind) => Err(kind.error(number)),
            None => Ok(()),
        }
    }

    async fn wait(&self, millis: u64) {
        match millis {
            HANGS => std::future::pending().await,
            millis => self.clock.sleep(ms(millis)).await,
        }
    }
}

/// Records that a read was dropped.
struct Unfinished {
    store: Slow,
    number: usize,
}

impl Unfinished {
    fn finish(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let now = self.store.millis();
        self.store.state().dropped.push((self.number, now));
    }
}

fn body(bytes: Bytes, step: Step, unfinished: Unfinished) -> BoxStream<'static, Result<Bytes>> {
    let empty = step.hesitates.then(|| Ok(Bytes::new()));
    let state = (bytes, 0, Some(unfinished));
    let chunks = stream::unfold(state, move |(mut bytes, index, unfinished)| {
        let step = step.clone();
        async move {
            let read = unfinished?;
            read.store.wait(step.wait_before(index)).await;
            if step.breaks_at == Some(index) {
                let error = Kind::Generic.error(read.number);
                read.finish();
                return Some((Err(error), (bytes, index, None)));
            }
            if bytes.is_empty() {
                read.finish();
                return None;
            }
            let chunk = bytes.split_to(CHUNK.min(bytes.len()));
            Some((Ok(chunk), (bytes, index + 1, Some(read))))
        }
    });
    stream::iter(empty).chain(chunks).boxed()
}

#[async_trait::async_trait]
impl ObjectStore for Slow {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let (unfinished, step) = self.begin();
        self.state().asked.push(options.clone());
        let answer = self.answer(&step, unfinished.number).await;
        let is_head = options.head;
        let options = match step.ignores_conditions {
            true => GetOptions::new().with_range(options.range),
            false => options,
        };
        let answer = match answer {
            Ok(()) => self.memory.get_opts(location, options).await,
            Err(error) => Err(error),
        };
        let result = match answer {
            Ok(result) if !is_head => result,
            answer => {
                unfinished.finish();
                // The body of a `head` is not to be read.
                let payload = GetResultPayload::Stream(stream::pending().boxed());
                return answer.map(|result| GetResult { payload, ..result });
            }
        };
        let (range, mut meta) = (result.range.clone(), result.meta.clone());
        if let Some(e_tag) = step.e_tag {
            meta.e_tag = e_tag.map(String::from);
        }
        let bytes = result.bytes().await?;
        Ok(GetResult {
            payload: GetResultPayload::Stream(body(bytes, step, unfinished)),
            meta,
            range,
            attributes: Default::default(),
            extensions: Default::default(),
        })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (unfinished, step) = self.begin();
        let answer = self.answer(&step, unfinished.number).await;
        unfinished.finish();
        answer?;
        self.memory.get_ranges(location, ranges).await
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.memory.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.memory.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.memory.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.memory.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.memory.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.memory.copy_opts(from, to, options).await
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slow")
    }
}

impl fmt::Debug for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slow")
    }
}
