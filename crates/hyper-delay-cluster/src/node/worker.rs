//! The thread of a shard: passes events and the time to it, and carries out its effects.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender},
    },
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};

use super::{
    CurrentTerm, ShardHandle, ShardNotice, ShardObserver, replies, shards,
    snapshot_download::{SnapshotDownload, remove_replaced},
    store_examination::StoreExamination,
};
use crate::{
    Charter, ShardId,
    clock_check::ClockStepDetector,
    link::LinkEndpoint,
    log::Log,
    shard::{LeadershipChange, Shard, ShardEffects, ShardEvent, SnapshotFetch},
};
use hyper_delay_engine::{
    clock::{Clock, Now},
    metrics::MemoryGauges,
    scheduler::NextCall,
    thread_progress::{ProgressCounter, ThreadProgress},
};
use hyper_delay_fjall::{Embedded, node_directory::NodeDirectory};
use hyper_delay_store::StoreError;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node::worker";

/// Prefix of the names of the threads.
pub(super) const NAME: &str = "shard ";

/// The maximum number of messages between two ticks.
const BURST: usize = 256;

/// A message for the thread of a shard.
#[derive(Debug)]
pub(super) enum WorkerMessage {
    /// Something has happened.
    Event(ShardEvent),
    /// The snapshot of an attempt has become this store.
    Fetched(u64, Box<Embedded>),
    /// The tables of a store that has failed in the background were read: they are damaged, or not.
    Examined(Option<StoreError>),
    /// Asks what the shard has in memory.
    InMemory(oneshot::Sender<MemoryGauges>),
    /// A term has begun.
    TermBegun,
    /// The node is about to end: the shard is led no longer. The answer comes when that is so.
    HandOver(oneshot::Sender<()>),
    /// The thread ends when what is applied is on the disk.
    Finish,
    /// The thread ends at once.
    End,
}

/// Shared by the threads of all shards.
#[derive(Debug)]
pub(super) struct WorkerContext<L> {
    pub(super) log: Arc<L>,
    pub(super) runtime: Handle,
    pub(super) current_term: Arc<CurrentTerm>,
    pub(super) clock: Clock,
    pub(super) pulses: Arc<ThreadProgress>,
    pub(super) charter: Charter,
    /// Fetches snapshots. It is set when there are links.
    pub(super) endpoint: OnceLock<Arc<LinkEndpoint>>,
    /// Dropped after the stores.
    pub(super) directory: NodeDirectory,
}

/// A shard with its channels, its clock and its observer.
pub(super) struct ShardWorker<L, F> {
    pub(super) id: ShardId,
    pub(super) shard: Shard<Embedded>,
    pub(super) inbox: Receiver<WorkerMessage>,
    /// Bytes of entries in `inbox`.
    pub(super) waiting: Arc<AtomicUsize>,
    /// Leads to `inbox`.
    pub(super) own: Sender<WorkerMessage>,
    /// Gets the store that replaces the present one.
    pub(super) handle: ShardHandle,
    pub(super) observer: F,
    pub(super) common: Arc<WorkerContext<L>>,
    pub(super) state: WorkerState,
}

/// State of the thread between two rounds.
#[derive(Debug, Default)]
pub(super) struct WorkerState {
    /// The applied entry that the observer was notified of last.
    notified_applied: Option<u64>,
    has_notified_stop: bool,
    examination: StoreExamination,
    is_persisting: bool,
    handed_over: Option<oneshot::Sender<()>>,
    download: SnapshotDownload,
    clock_step: ClockStepDetector,
}

impl<L: Log, F: ShardObserver> ShardWorker<L, F> {
    /// Runs until it receives a message that ends it.
    pub(super) fn run(mut self) {
        let common = self.common.clone();
        let pulse = common.pulses.of_shard(self.id.0, common.charter.shards);
        loop {
            let now = self.now();
            let next = self.shard.tick(now, common.current_term.load());
            self.carry_out();
            self.confirm_hand_over();
            let next = if self.continue_with_snapshot() {
                NextCall::Now
            } else {
                next
            };
            let Some(first) = self.wait(next, pulse) else {
                continue;
            };
            let mut first = Some(first);
            for _ in 0..BURST {
                let Some(message) = first.take().or_else(|| self.inbox.try_recv().ok()) else {
                    break;
                };
                // After the mail was sent: a serving node counts from when it has asked for as long
                // as the term holds at this moment.
                let (now, term) = (self.now(), common.current_term.load());
                match message {
                    WorkerMessage::Event(event) => {
                        self.state.observe(&event, &self.waiting);
                        self.shard.handle(event, now, term);
                    }
                    WorkerMessage::Fetched(attempt, store) => {
                        self.state.download.fetched(attempt, *store);
                    }
                    WorkerMessage::Examined(damage) => {
                        self.state.examination.finish();
                        self.shard.handle_examination(damage);
                    }
                    WorkerMessage::TermBegun => {}
                    WorkerMessage::InMemory(answer) => {
                        let _ = answer.send(self.shard.in_memory(now));
                    }
                    WorkerMessage::HandOver(done) => {
                        self.shard.handle(ShardEvent::HandOver, now, term);
                        self.state.handed_over = Some(done);
                    }
                    WorkerMessage::Finish => return self.finish(),
                    WorkerMessage::End => {
                        self.state.examination.cancel();
                        return;
                    }
                }
            }
        }
    }

    /// Reads the clock. If it was set, it is compared with those of other nodes first: the next tick
    /// would deliver, and remove, what is due by it.
    fn now(&mut self) -> Now {
        let now = self.common.clock.now();
        if self.state.clock_step.has_stepped(now)
            && let Some(endpoint) = self.common.endpoint.get()
        {
            let is_off = ShardEvent::ClockIsOff(endpoint.clocks().check());
            self.shard
                .handle(is_off, now, self.common.current_term.load());
        }
        now
    }

    fn wait(&self, next: NextCall, pulse: &ProgressCounter) -> Option<WorkerMessage> {
        pulse.begin_wait();
        let message = match next {
            NextCall::Now => self.inbox.try_recv().ok(),
            NextCall::Never => self.inbox.recv().ok(),
            NextCall::At(at) => {
                let wait = at.since(self.common.clock.now().monotonic);
                self.inbox.recv_timeout(Duration::from_nanos(wait)).ok()
            }
        };
        pulse.begin_work();
        message
    }

    fn carry_out(&mut self) {
        let ShardEffects {
            calls,
            to_peers,
            #[cfg(test)]
            messages,
            changes,
            leader_changed,
            persist,
            fetch,
            spool,
            fetch_failure,
        } = self.shard.take_effects();
        for (call, request) in calls {
            let log = self.common.log.clone();
            let reply = replies::CallReply::new(call, self.own.clone());
            let calling = async move { reply.send(log.call(request).await) };
            self.common.runtime.spawn(calling);
        }
        if let Some(persisting) = persist {
            self.state.is_persisting = true;
            let reply = replies::SyncReply::new(self.own.clone());
            // The directory stays locked while its store is written to.
            let directory = self.common.directory.clone();
            self.common.runtime.spawn_blocking(move || {
                let result = persisting.run();
                drop(directory);
                reply.send(result);
            });
        }
        self.carry_out_fetch(fetch, &spool, fetch_failure);
        // Before the messages, which refer to what is applied.
        self.notify_applied();
        for change in changes {
            self.log_leadership(change);
            #[cfg(test)]
            self.notify(ShardNotice::LeadershipChanged(change));
        }
        if leader_changed {
            self.notify(ShardNotice::Leader(self.shard.leader().cloned()));
        }
        if !to_peers.is_empty() {
            self.notify(ShardNotice::Peers(to_peers));
        }
        #[cfg(test)]
        if let Some(fence) = self.shard.fence()
            && !messages.is_empty()
        {
            self.notify(ShardNotice::Messages(fence, messages));
        }
        self.notify_if_stopped();
    }

    /// Begins and ends what the shard wants to fetch.
    fn carry_out_fetch(
        &mut self,
        fetch: Option<SnapshotFetch>,
        spool: &[(u64, Arc<[u8]>)],
        fetch_failure: Option<String>,
    ) {
        let fetching = &mut self.state.download;
        if let Some(why) = fetch_failure {
            fetching.failed(self.id, why);
        }
        let begun = fetch.map_or(Ok(()), |fetch| {
            fetching.begin(self.id, fetch, &self.common, &self.own)
        });
        let directory = &self.common.directory;
        if let Err(error) = begun.and_then(|()| fetching.spool(spool, directory)) {
            let why = format!("the journal cannot be spooled: {error}");
            let failed = ShardEvent::FetchFailed(fetching.attempt(), why);
            // In its turn: the shard is in the middle of something.
            let _ = self.own.send(WorkerMessage::Event(failed));
        }
    }

    /// Continues with the store of a snapshot, and with the spooled entries. Returns whether more is
    /// left to do.
    fn continue_with_snapshot(&mut self) -> bool {
        let now = self.common.clock.now();
        let fetching = &mut self.state.download;
        let attempt = fetching.attempt();
        if self.shard.is_replaceable()
            && let Some(store) = fetching.take_store()
        {
            if self.shard.replace(attempt, store.clone(), now) {
                self.replica_replaced(store);
            }
            return true;
        }
        if !fetching.has_spool() || self.shard.stopped().is_some() {
            return false;
        }
        if !self.shard.is_draining() {
            fetching.finish();
            return false;
        }
        self.shard.drain(|applied| fetching.next(applied), now)
    }

    fn replica_replaced(&mut self, store: Arc<Embedded>) {
        let shard = self.id.0;
        let applied = self.shard.applied();
        tracing::info!(
            target: TARGET,
            shard,
            applied,
            "the shard goes on with a snapshot of another node",
        );
        self.state.has_notified_stop = false;
        self.state.examination.reset();
        // A lower place is reported before the replica is used, and a higher one after that.
        if self.state.notified_applied > Some(applied) {
            self.notify_applied();
        }
        self.handle.replaced(store.clone());
        self.notify(ShardNotice::Replaced(store));
        let removing = remove_replaced(self.common.directory.downgrade(), shard);
        self.common.runtime.spawn(removing);
    }

    fn notify_applied(&mut self) {
        let applied = self.shard.applied();
        if self.state.notified_applied.replace(applied) != Some(applied) {
            self.notify(ShardNotice::Applied(applied));
        }
    }

    fn notify_if_stopped(&mut self) {
        let Some(why) = self.shard.stopped() else {
            return;
        };
        let reason = why.reason();
        if why.is_background_write() && self.state.examination.is_pending() {
            if self.state.examination.begin() {
                self.handle.stopped(reason.as_str().into());
                let (store, directory) = (self.handle.store(), self.common.directory.clone());
                let examining = &self.state.examination;
                examining.spawn(store, directory, self.own.clone());
            }
            return;
        }
        if std::mem::replace(&mut self.state.has_notified_stop, true) {
            return;
        }
        let shard = self.id.0;
        match why.waits_for_snapshot() {
            true => tracing::warn!(
                target: TARGET,
                shard,
                reason,
                "the replica of a shard cannot go on: this node takes a snapshot from another one",
            ),
            false => {
                tracing::error!(
                    target: TARGET,
                    shard,
                    error = %why,
                    "a shard has stopped on this node; the others go on",
                );
            }
        }
        self.handle.stopped(reason.as_str().into());
        if why.is_damage()
            && let Err(error) = self.common.directory.mark_damaged(shard, &reason)
        {
            tracing::error!(
                target: TARGET,
                shard,
                %error,
                "the damage could not be noted for the next start",
            );
        }
        self.notify(ShardNotice::Stopped);
    }

    fn confirm_hand_over(&mut self) {
        if self.shard.has_no_leadership()
            && let Some(done) = self.state.handed_over.take()
        {
            let _ = done.send(());
        }
    }

    /// Waits until everything that is applied is on the disk.
    fn finish(mut self) {
        self.state.examination.cancel();
        self.state.download.end();
        while self.state.is_persisting {
            match self.inbox.recv() {
                Ok(WorkerMessage::Event(event)) => self.state.observe(&event, &self.waiting),
                Ok(WorkerMessage::End) | Err(_) => return,
                Ok(
                    WorkerMessage::Fetched(..)
                    | WorkerMessage::Examined(_)
                    | WorkerMessage::TermBegun
                    | WorkerMessage::InMemory(_)
                    | WorkerMessage::HandOver(_)
                    | WorkerMessage::Finish,
                ) => {}
            }
        }
        let persisting = self.shard.prepare_sync();
        let persisting = persisting.filter(|_| self.shard.stopped().is_none());
        if let Some(Err(error)) = persisting.map(|it| it.run()) {
            let shard = self.id.0;
            tracing::error!(
                target: TARGET,
                shard,
                %error,
                "the store could not be synced; the journal has all",
            );
        }
    }

    fn notify(&mut self, notice: ShardNotice) {
        self.observer.notify(self.id, notice);
    }

    fn log_leadership(&self, change: LeadershipChange) {
        let shard = self.id.0;
        match change {
            LeadershipChange::Begins(fence) => {
                tracing::info!(
                    target: TARGET,
                    shard,
                    epoch = fence.epoch,
                    "this node leads the shard",
                );
            }
            LeadershipChange::Ends(fence) => {
                tracing::info!(
                    target: TARGET,
                    shard,
                    epoch = fence.epoch,
                    "this node leads the shard no longer",
                );
            }
        }
    }
}

impl WorkerState {
    /// Observes an event before the shard handles it.
    fn observe(&mut self, event: &ShardEvent, waiting: &AtomicUsize) {
        match event {
            ShardEvent::Entries(entries) => {
                waiting.fetch_sub(shards::bytes(entries), Ordering::Relaxed);
            }
            ShardEvent::Persisted(_) => self.is_persisting = false,
            _ => {}
        }
    }
}
