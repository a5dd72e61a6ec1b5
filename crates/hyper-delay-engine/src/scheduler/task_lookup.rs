use super::{Scheduler, task::TaskInMemory};
use hyper_delay_store::Store;

impl<S: Store> Scheduler<S> {
    /// Returns those of some revisions that are in flight, with their attempts.
    pub fn in_flight_attempts(&self, seqs: &[u64]) -> impl Iterator<Item = (u64, u32)> {
        let seqs = seqs.iter().copied();
        let in_flight = seqs.filter(|seq| self.tasks.round(*seq).is_some());
        in_flight.map(|seq| {
            let task = self.tasks.get(seq);
            (seq, task.map_or(0, TaskInMemory::attempt))
        })
    }
}
