//! The thread of a shard: passes events and the time to it, and carries out its effects.

use std::{
    iter,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender},
    },
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};

use super::{Front, Terms, Told, replies, shards};
use crate::{
    clock::Clock,
    cluster::{
        ShardId,
        log::Log,
        replica::NotApplied,
        shard::{Effects, Event, Leadership, Shard, Stopped},
    },
    progress::{Progress, Pulse},
    scheduler::{InMemory, Next},
    store::{Store, replicas::NodeDirectory},
};

/// How the names of the threads begin.
pub(super) const NAME: &str = "shard ";

/// The maximum number of messages between two reads of the clock.
const BURST: usize = 256;

/// A message for the thread of a shard.
#[derive(Debug)]
pub(super) enum Mail {
    /// Something has happened.
    Event(Event),
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
    pub(super) progress: Arc<Progress>,
    pub(super) shards: u16,
    /// Dropped after the stores.
    pub(super) directory: NodeDirectory,
}

/// A shard with its channels, its clock and the front.
pub(super) struct Worker<S: Store, L, F> {
    pub(super) id: ShardId,
    pub(super) shard: Shard<S>,
    pub(super) inbox: Receiver<Mail>,
    /// Bytes of entries in `inbox`.
    pub(super) waiting: Arc<AtomicUsize>,
    /// Leads to `inbox`.
    pub(super) own: Sender<Mail>,
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
    is_persisting: bool,
    handed_over: Option<oneshot::Sender<()>>,
}

impl<S: Store, L: Log, F: Front> Worker<S, L, F> {
    /// Runs until it is told to end.
    pub(super) fn run(mut self) {
        let common = self.common.clone();
        let pulse = common.progress.of_shard(self.id.0, common.shards);
        loop {
            let next = self.shard.tick(common.clock.now(), common.terms.current());
            self.carry_out();
            self.tell_if_handed_over();
            let Some(first) = self.wait(next, pulse) else {
                continue;
            };
            let (now, term) = (common.clock.now(), common.terms.current());
            for mail in iter::once(first).chain(self.inbox.try_iter()).take(BURST) {
                match mail {
                    Mail::Event(event) => {
                        self.state.happens(&event, &self.waiting);
                        self.shard.handle(event, now, term);
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
                    Mail::End => return,
                }
            }
        }
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
                reply.send(persisting.run());
                drop(directory);
            });
        }
        // Before the messages, which refer to what is applied.
        let applied = Some(self.shard.applied());
        if self.state.told != applied {
            self.state.told = applied;
            self.tell(Told::Applied(self.shard.applied()));
        }
        for change in changes {
            self.logs(change);
            self.tell(Told::Leads(change));
        }
        if leader_changed {
            self.tell(Told::Leader(self.shard.leader().cloned()));
        }
        if !told.is_empty() {
            self.tell(Told::Peers(told));
        }
        if let Some(fence) = self.shard.fence()
            && !messages.is_empty()
        {
            self.tell(Told::Messages(fence, messages));
        }
        self.tell_if_stopped();
    }

    fn tell_if_stopped(&mut self) {
        let Some(why) = self.shard.stopped() else {
            return;
        };
        if std::mem::replace(&mut self.state.has_told_stop, true) {
            return;
        }
        let shard = self.id.0;
        tracing::error!(shard, error = %why, "a shard has stopped on this node; the others go on");
        let reason = why.to_string();
        if is_damage(why)
            && let Err(error) = self.common.directory.note_damage(shard, &reason)
        {
            tracing::error!(shard, %error, "the damage could not be noted for the next start");
        }
        self.tell(Told::Stopped(reason.into()));
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
        while self.state.is_persisting {
            match self.inbox.recv() {
                Ok(Mail::Event(event)) => self.state.happens(&event, &self.waiting),
                Ok(Mail::End) | Err(_) => return,
                Ok(Mail::Look | Mail::InMemory(_) | Mail::HandOver(_) | Mail::Finish) => {}
            }
        }
        let persisting = self.shard.persisting();
        let persisting = persisting.filter(|_| self.shard.stopped().is_none());
        if let Some(Err(error)) = persisting.map(|it| it.run()) {
            let shard = self.id.0;
            tracing::error!(shard, %error, "the store could not be synced; the journal has all");
        }
    }

    fn tell(&mut self, told: Told) {
        self.front.told(self.id, told);
    }

    fn logs(&self, change: Leadership) {
        let shard = self.id.0;
        match change {
            Leadership::Begins(fence) => {
                tracing::info!(shard, epoch = fence.epoch, "this node leads the shard");
            }
            Leadership::Ends(fence) => {
                tracing::info!(
                    shard,
                    epoch = fence.epoch,
                    "this node leads the shard no longer"
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

/// Returns whether the contents of the store are the reason, which the next start can cure.
fn is_damage(why: &Stopped) -> bool {
    match why {
        Stopped::Store(error) | Stopped::NotApplied(NotApplied::Store(error)) => {
            error.is_of_contents()
        }
        _ => false,
    }
}
