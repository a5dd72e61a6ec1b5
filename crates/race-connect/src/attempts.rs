use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use race_core::Moment;

use crate::{
    Family,
    v3::{Peer, Transport},
};

/// The attempts of one race, in the order of their starts.
#[derive(Debug, Default)]
pub struct Attempts(Vec<Attempt>);

#[derive(Debug)]
struct Attempt {
    peer: Peer,
    family: Family,
    began: Moment,
    /// It has neither connected nor failed. A timeout is no answer.
    is_running: bool,
    has_progress: Arc<AtomicBool>,
    /// The time until its first progress.
    handshake: Option<Duration>,
}

impl Attempts {
    pub(crate) fn start(&mut self, peer: Peer, family: Family, now: Moment) {
        self.0.push(Attempt {
            peer,
            family,
            began: now,
            is_running: true,
            has_progress: Arc::default(),
            handshake: None,
        });
    }

    /// Reports that an attempt has connected or failed.
    pub(crate) fn finish(&mut self, peer: Peer) {
        let mut attempts = self.0.iter_mut();
        if let Some(attempt) = attempts.find(|it| it.peer == peer && it.is_running) {
            attempt.is_running = false;
        }
    }

    /// Returns the flag that the latest attempt of a peer sets when it makes progress.
    pub(crate) fn progress_of(&self, peer: Peer) -> Arc<AtomicBool> {
        let attempt = self.latest(peer).map(|place| &self.0[place]);
        attempt.map_or_else(Arc::default, |it| Arc::clone(&it.has_progress))
    }

    /// Looks which attempts have made progress by `now`.
    pub(crate) fn note_progress(&mut self, now: Moment) {
        for attempt in &mut self.0 {
            if attempt.handshake.is_none() && attempt.has_progress.load(Ordering::Relaxed) {
                attempt.handshake = Some(now.since(attempt.began));
            }
        }
    }

    /// Returns how long the winner took to its first progress, or else to the connection.
    pub(crate) fn handshake(&self, winner: Peer, now: Moment) -> Option<Duration> {
        let attempt = &self.0[self.latest(winner)?];
        Some(attempt.handshake.unwrap_or(now.since(attempt.began)))
    }

    /// Whether the family of the winner connected while the other one got no answer over the same
    /// transport.
    pub(crate) fn teach_family(&self, winner: Peer, family: Family) -> bool {
        let mut unanswered = self.unanswered_before(winner);
        unanswered.any(|it| it.family != family && it.peer.transport == winner.transport)
    }

    /// Whether the winner connected over TCP while QUIC got no answer.
    pub(crate) fn teach_tcp(&self, winner: Peer) -> bool {
        let is_quic = |it: &Attempt| it.peer.transport == Transport::Quic;
        let mut unanswered = self.unanswered_before(winner);
        winner.transport == Transport::Tcp
            && unanswered.any(|it| is_quic(it) && it.handshake.is_none())
    }

    /// An attempt that began later than the winner has not had the same time.
    fn unanswered_before(&self, winner: Peer) -> impl Iterator<Item = &Attempt> {
        let place = self.latest(winner).unwrap_or(0);
        self.0[..place].iter().filter(|it| it.is_running)
    }

    /// Takes the peers that got no answer.
    pub(crate) fn take_running(&mut self) -> Vec<Peer> {
        let attempts = mem::take(&mut self.0).into_iter();
        attempts
            .filter(|it| it.is_running)
            .map(|it| it.peer)
            .collect()
    }

    fn latest(&self, peer: Peer) -> Option<usize> {
        self.0.iter().rposition(|it| it.peer == peer)
    }
}
