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
    Front, ShardHandle, Terms, Told,
    examining::Examining,
    fetching::{Fetching, remove_replaced},
    replies, shards,
};
use crate::{
    Charter, ShardId,
    clock_check::Setting,
    link::Endpoint,
    log::Log,
    shard::{Effects, Event, Fetch, Leadership, Shard},
};
use hyper_delay_engine::{
    clock::{Clock, Now},
    metrics::InMemory,
    pulse::{Pulse, Pulses},
    scheduler::Next,
};
use hyper_delay_fjall::{Embedded, replicas::NodeDirectory};
use hyper_delay_store::StoreError;

/// The target of its events in the log.
const TARGET: &str = "hyper_delay::cluster::node::worker";

/// How the names of the threads begin.
pub(super) const NAME: &str = "shard ";

/// The maximum number of messages between two ticks.
const BURST: usize = 256;

/// A message for the thread of a shard.
#[derive(Debug)]
pub(super) enum Mail {
    /// Something has happened.
    Event(Event),
    /// The snapshot of an attempt has become this store.
    Fetched(u64, Box<Embedded>),
    /// The tables of a store that has failed in the background were read: they are damaged, or not.
    Examined(Option<StoreError>),
    /// Asks what the shard has in memory.
    InMemory(oneshot::Sender<InMemory>),
    /// A term has begun.
    Look,
    /// The node is about to end: the shard is led no longer. The answer comes when that is so.
    HandOver(oneshot::Sender<()>),
    /// The thread ends when what is applied is on the disk.
    Finish,
    /// The thread ends at once.
    End,
}

/// What the threads of all shards share.
#[derive(Debug)]
pub(super) struct Common<L> {
    pub(super) log: Arc<L>,
    pub(super) runtime: Handle,
    pub(super) terms: Arc<Terms>,
    pub(super) clock: Clock,
    pub(super) pulses: Arc<Pulses>,
    pub(super) charter: Charter,
    /// Fetches snapshots. It is set when there are links.
    pub(super) endpoint: OnceLock<Arc<Endpoint>>,
    /// Dropped after the stores.
    pub(super) directory: NodeDirectory,
}

/// A shard with its channels, its clock and the front.
pub(super) struct Worker<L, F> {
    pub(super) id: ShardId,
    pub(super) shard: Shard<Embedded>,
    pub(super) inbox: Receiver<Mail>,
    /// Bytes of entries in `inbox`.
    pub(super) waiting: Arc<AtomicUsize>,
    /// Leads to `inbox`.
    pub(super) own: Sender<Mail>,
    /// Is told of another store.
    pub(super) handle: ShardHandle,
    pub(super) front: F,
    pub(super) common: Arc<Common<L>>,
    pub(super) state: State,
}

/// What the thread remembers between two rounds.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The entry of which the front was told last.
    told: Option<u64>,
    has_told_stop: bool,
    examining: Examining,
    is_persisting: bool,
    handed_over: Option<oneshot::Sender<()>>,
    fetching: Fetching,
    setting: Setting,
}

impl<L: Log, F: Front> Worker<L, F> {
    /// Runs until it is told to end.
    pub(super) fn run(mut self) {
        let common = self.common.clone();
        let pulse = common.pulses.of_shard(self.id.0, common.charter.shards);
        loop {
            let now = self.now();
            let next = self.shard.tick(now, common.terms.current());
            self.carry_out();
            self.tell_if_handed_over();
            let next = if self.goes_on_with_snapshot() {
                Next::Now
            } else {
                next
            };
            let Some(first) = self.wait(next, pulse) else {
                continue;
            };
            let mut first = Some(first);
            for _ in 0..BURST {
                let Some(mail) = first.take().or_else(|| self.inbox.try_recv().ok()) else {
                    break;
                };
                // After the mail was sent: a serving node counts from when it has asked for as long
                // as the term holds at this moment.
                let (now, term) = (self.now(), common.terms.current());
                match mail {
                    Mail::Event(event) => {
                        self.state.happens(&event, &self.waiting);
                        self.shard.handle(event, now, term);
                    }
                    Mail::Fetched(attempt, store) => self.state.fetching.fetched(attempt, *store),
                    Mail::Examined(damage) => {
                        self.state.examining.finish();
                        self.shard.examined(damage);
                    }
                    Mail::Look => {}
                    Mail::InMemory(answer) => {
                        let _ = answer.send(self.shard.in_memory(now));
                    }
                    Mail::HandOver(told) => {
                        self.shard.handle(Event::HandOver, now, term);
                        self.state.handed_over = Some(told);
                    }
                    Mail::Finish => return self.finish(),
                    Mail::End => {
                        self.state.examining.end();
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
        if self.state.setting.look(now)
            && let Some(endpoint) = self.common.endpoint.get()
        {
            let is_off = Event::ClockIsOff(endpoint.clocks().look());
            self.shard.handle(is_off, now, self.common.terms.current());
        }
        now
    }

    fn wait(&self, next: Next, pulse: &Pulse) -> Option<Mail> {
        pulse.rests();
        let mail = match next {
            Next::Now => self.inbox.try_recv().ok(),
            Next::Never => self.inbox.recv().ok(),
            Next::At(at) => {
                let wait = at.since(self.common.clock.now().monotonic);
                self.inbox.recv_timeout(Duration::from_nanos(wait)).ok()
            }
        };
        pulse.works();
        mail
    }

    fn carry_out(&mut self) {
        let Effects {
            calls,
            told,
            #[cfg(test)]
            messages,
            changes,
            leader_changed,
            persist,
            fetch,
            spool,
            unfetched,
        } = self.shard.take_effects();
        for (call, request) in calls {
            let log = self.common.log.clone();
            let reply = replies::ToCall::new(call, self.own.clone());
            let calling = async move { reply.send(log.call(request).await) };
            self.common.runtime.spawn(calling);
        }
        if let Some(persisting) = persist {
            self.state.is_persisting = true;
            let reply = replies::ToPersist::new(self.own.clone());
            // The directory stays locked while its store is written to.
            let directory = self.common.directory.clone();
            self.common.runtime.spawn_blocking(move || {
                let result = persisting.run();
                drop(directory);
                reply.send(result);
            });
        }
        self.fetches(fetch, &spool, unfetched);
        // Before the messages, which refer to what is applied.
        self.tell_applied();
        for change in changes {
            self.logs(change);
            #[cfg(test)]
            self.tell(Told::Leads(change));
        }
        if leader_changed {
            self.tell(Told::Leader(self.shard.leader().cloned()));
        }
        if !told.is_empty() {
            self.tell(Told::Peers(told));
        }
        #[cfg(test)]
        if let Some(fence) = self.shard.fence()
            && !messages.is_empty()
        {
            self.tell(Told::Messages(fence, messages));
        }
        self.tell_if_stopped();
    }

    /// Begins and ends what the shard wants to fetch.
    fn fetches(
        &mut self,
        fetch: Option<Fetch>,
        spool: &[(u64, Arc<[u8]>)],
        unfetched: Option<String>,
    ) {
        let fetching = &mut self.state.fetching;
        if let Some(why) = unfetched {
            fetching.failed(self.id, why);
        }
        let begun = fetch.map_or(Ok(()), |fetch| {
            fetching.begin(self.id, fetch, &self.common, &self.own)
        });
        let directory = &self.common.directory;
        if let Err(error) = begun.and_then(|()| fetching.spool(spool, directory)) {
            let why = format!("the journal cannot be spooled: {error}");
            let failed = Event::NotFetched(fetching.attempt(), why);
            // In its turn: the shard is in the middle of something.
            let _ = self.own.send(Mail::Event(failed));
        }
    }

    /// Goes on with the store of a snapshot, and with what was spooled. Returns whether there is
    /// more to do.
    fn goes_on_with_snapshot(&mut self) -> bool {
        let now = self.common.clock.now();
        let fetching = &mut self.state.fetching;
        let attempt = fetching.attempt();
        if self.shard.is_replaceable()
            && let Some(store) = fetching.take_store()
        {
            if self.shard.replace(attempt, store.clone(), now) {
                self.has_replaced(store);
            }
            return true;
        }
        if !fetching.has_spool() || self.shard.stopped().is_some() {
            return false;
        }
        if !self.shard.is_draining() {
            fetching.is_over();
            return false;
        }
        self.shard.drain(|applied| fetching.next(applied), now)
    }

    fn has_replaced(&mut self, store: Arc<Embedded>) {
        let shard = self.id.0;
        let applied = self.shard.applied();
        tracing::info!(
            target: TARGET,
            shard,
            applied,
            "the shard goes on with a snapshot of another node",
        );
        self.state.has_told_stop = false;
        self.state.examining.begin_again();
        // A lower place is told before the replica is used, and a higher one after it.
        if self.state.told > Some(applied) {
            self.tell_applied();
        }
        self.handle.replaced(store.clone());
        self.tell(Told::Replaced(store));
        let removing = remove_replaced(self.common.directory.downgrade(), shard);
        self.common.runtime.spawn(removing);
    }

    fn tell_applied(&mut self) {
        let applied = self.shard.applied();
        if self.state.told.replace(applied) != Some(applied) {
            self.tell(Told::Applied(applied));
        }
    }

    fn tell_if_stopped(&mut self) {
        let Some(why) = self.shard.stopped() else {
            return;
        };
        let reason = why.reason();
        if why.is_of_background() && self.state.examining.is_open() {
            if self.state.examining.begin() {
                self.handle.stopped(reason.as_str().into());
                let (store, directory) = (self.handle.store(), self.common.directory.clone());
                let examining = &self.state.examining;
                examining.examine(store, directory, self.own.clone());
            }
            return;
        }
        if std::mem::replace(&mut self.state.has_told_stop, true) {
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
            && let Err(error) = self.common.directory.note_damage(shard, &reason)
        {
            tracing::error!(
                target: TARGET,
                shard,
                %error,
                "the damage could not be noted for the next start",
            );
        }
        self.tell(Told::Stopped);
    }

    fn tell_if_handed_over(&mut self) {
        if self.shard.is_out()
            && let Some(told) = self.state.handed_over.take()
        {
            let _ = told.send(());
        }
    }

    /// Waits until everything that is applied is on the disk.
    fn finish(mut self) {
        self.state.examining.end();
        self.state.fetching.end();
        while self.state.is_persisting {
            match self.inbox.recv() {
                Ok(Mail::Event(event)) => self.state.happens(&event, &self.waiting),
                Ok(Mail::End) | Err(_) => return,
                Ok(
                    Mail::Fetched(..)
                    | Mail::Examined(_)
                    | Mail::Look
                    | Mail::InMemory(_)
                    | Mail::HandOver(_)
                    | Mail::Finish,
                ) => {}
            }
        }
        let persisting = self.shard.persisting();
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

    fn tell(&mut self, told: Told) {
        self.front.told(self.id, told);
    }

    fn logs(&self, change: Leadership) {
        let shard = self.id.0;
        match change {
            Leadership::Begins(fence) => {
                tracing::info!(
                    target: TARGET,
                    shard,
                    epoch = fence.epoch,
                    "this node leads the shard",
                );
            }
            Leadership::Ends(fence) => {
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

impl State {
    /// Looks at an event before the shard takes it.
    fn happens(&mut self, event: &Event, waiting: &AtomicUsize) {
        match event {
            Event::Entries(entries) => {
                waiting.fetch_sub(shards::bytes(entries), Ordering::Relaxed);
            }
            Event::Persisted(_) => self.is_persisting = false,
            _ => {}
        }
    }
}
