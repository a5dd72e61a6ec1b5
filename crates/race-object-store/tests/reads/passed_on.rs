//! What is not a read reaches the inner store as it is, once.

use std::{
    fmt,
    ops::Range,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use object_store::{
    CopyMode, CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, RenameOptions, RenameTargetMode, Result, path::Path,
};
use race_object_store::GenericHedgedStore;

use crate::slow::{Slow, TEXT, ms};

/// Records the name of each call, and runs a function in it.
pub(crate) struct Recorder {
    inner: Slow,
    calls: Arc<Mutex<Vec<&'static str>>>,
    on_call: Box<dyn Fn() + Send + Sync>,
}

impl Recorder {
    pub(crate) fn new(inner: Slow, on_call: impl Fn() + Send + Sync + 'static) -> Self {
        let (calls, on_call) = (Arc::default(), Box::new(on_call));
        Self {
            inner,
            calls,
            on_call,
        }
    }

    fn record(&self, call: &'static str) -> &Slow {
        (self.on_call)();
        self.calls.lock().unwrap().push(call);
        &self.inner
    }
}

#[async_trait::async_trait]
impl ObjectStore for Recorder {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.record("get").get_opts(path, options).await
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.record("get_ranges").get_ranges(path, ranges).await
    }

    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.record("put").put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.record("multipart")
            .put_multipart_opts(path, options)
            .await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.record("delete").delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.record("list").list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.record("offset").list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.record("delimiter").list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.record("copy").copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.record("rename").rename_opts(from, to, options).await
    }
}

impl fmt::Display for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recorder")
    }
}

#[test]
fn every_operation_reaches_the_inner_store_once() {
    let slow = Slow::new([]);
    let recorder = Recorder::new(slow.clone(), || {});
    let calls = recorder.calls.clone();
    let store = GenericHedgedStore::with_timer(recorder, slow.clock.timer(), ms(0)).max_attempts(9);
    let [b, c, d]: [Path; 3] = ["b", "c", "d"].map(Path::from);
    slow.run(async {
        store.put(&b, "text".into()).await?;
        // Its options arrive as well.
        let create = PutOptions::from(PutMode::Create);
        let again = store.put_opts(&b, "text".into(), create).await;
        assert!(matches!(
            again,
            Err(object_store::Error::AlreadyExists { .. })
        ));
        let mut upload = store.put_multipart(&c).await?;
        upload.put_part("part".into()).await?;
        upload.complete().await?;
        assert_eq!(store.list(None).count().await, 4);
        assert_eq!(store.list_with_offset(None, &b).count().await, 2);
        assert_eq!(store.list_with_delimiter(None).await?.objects.len(), 4);
        let create = CopyOptions::new().with_mode(CopyMode::Create);
        assert!(store.copy_opts(&b, &c, create).await.is_err());
        store.copy(&b, &c).await?;
        let create = RenameOptions::new().with_target_mode(RenameTargetMode::Create);
        store.rename_opts(&c, &d, create).await?;
        let deleted = store.delete_stream(futures::stream::iter([Ok(b), Ok(d)]).boxed());
        assert_eq!(deleted.try_collect::<Vec<_>>().await?.len(), 2);
        assert_eq!(store.list(None).count().await, 2);
        Ok::<_, object_store::Error>(())
    })
    .unwrap();
    let all = [
        "put",
        "put",
        "multipart",
        "list",
        "offset",
        "delimiter",
        "copy",
        "copy",
        "rename",
        "delete",
        "list",
    ];
    assert_eq!(*calls.lock().unwrap(), all);
    assert_eq!((slow.reads(), slow.millis()), (vec![], 0));
}

#[test]
fn inner_store_is_reachable_and_named() {
    let slow = Slow::new([]);
    let store = slow.hedged();
    assert_eq!(store.to_string(), "HedgedStore(Slow)");
    let read = slow.run(store.inner().get_range(&"a".into(), 0..3));
    assert_eq!(read.unwrap(), TEXT[..3]);
    assert_eq!(store.into_inner().reads(), [0]);
}
