//! A leader writes what its scheduler has asked for.

use super::{
    Shard,
    leader_state::{PendingAppend, PreparedWrite},
};
use crate::{call_id::CallId, entry::EntryChange, log::AppendOutcome, replica::RequiredDiskSpace};
use hyper_delay_engine::{
    clock::Now,
    scheduler::{CommittedJob, SchedulerInput},
};
use hyper_delay_store::Store;

impl<S: Store> Shard<S> {
    /// Writes what the scheduler has asked for.
    pub(super) fn write_next(&mut self, now: Now) {
        while let Some(leading) = &mut self.leading {
            let time = now.wall_millis().max(self.replica.applied().now);
            match leading.prepare(time, self.replica.store(), &self.setup) {
                Ok(PreparedWrite::Nothing) => {
                    let seq = self.replica.applied().seq + 1;
                    let request = leading.append_request(seq, &mut self.calls, now);
                    return self.effects.calls.extend(request);
                }
                Ok(PreparedWrite::NoRoom) => {
                    return self.wait_for_disk_space(RequiredDiskSpace::CHANGE, now);
                }
                Ok(PreparedWrite::Outcomes(committed)) => self.committed(committed, now),
                Ok(PreparedWrite::Change(change, committed)) => {
                    self.begin_append(change, committed, now);
                }
                Err(error) => return self.stop(error),
            }
        }
    }

    /// Makes a change the next entry. [`write_next`](Self::write_next) sends it.
    pub(super) fn begin_append(
        &mut self,
        mut change: EntryChange,
        committed: Vec<CommittedJob>,
        now: Now,
    ) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let time = now.wall_millis().max(self.replica.applied().now);
        let (epoch, nonce) = (leading.fence().epoch, self.calls.next().0);
        let entry = self.replica.next(epoch, nonce, time, &mut change);
        leading.append(PendingAppend::new(entry, change, committed, time, now));
    }

    /// Handles the result of an append.
    pub(super) fn appended(&mut self, call: CallId, appended: AppendOutcome, now: Now) {
        let Some(leading) = &mut self.leading else {
            return;
        };
        let Some(append) = leading.take_answered(call) else {
            return;
        };
        if appended != AppendOutcome::Done {
            let fence = leading.fence();
            return self.resign(fence);
        }
        let applied = append.apply(&mut self.replica, &self.setup.metrics, now);
        let applied = applied.and_then(|applied| leading.applied(&applied).map(|()| applied));
        match applied.map(|applied| applied.committed) {
            Ok(Some(committed)) => self.committed(committed, now),
            Ok(None) => {}
            Err(error) => self.stop(error),
        }
    }

    fn committed(&mut self, committed: Vec<CommittedJob>, now: Now) {
        self.input(SchedulerInput::Committed(committed), now);
    }
}
