use super::{Scheduler, SeenTasks};
use crate::{
    protocol::{Reply, Seen, State},
    store::Store,
};

impl<S: Store> Scheduler<S> {
    /// Adds which tasks are in flight to tasks that were read from the disk, and replies with them.
    pub(super) fn seen(&mut self, seen: SeenTasks) {
        let SeenTasks {
            seqs,
            mut reply,
            reply_to,
        } = seen;
        match &mut reply {
            Reply::Task {
                task: Some(task), ..
            } => self.complete(task, seqs.first()),
            Reply::List { tasks, .. } => {
                for (task, seq) in tasks.iter_mut().zip(&seqs) {
                    self.complete(task, Some(seq));
                }
            }
            _ => {}
        }
        self.reply(reply_to, reply);
    }

    fn complete(&self, seen: &mut Seen, seq: Option<&u64>) {
        let Some(seq) = seq.filter(|seq| self.tasks.round(**seq).is_some()) else {
            return;
        };
        seen.state = State::InFlight;
        if let Some(task) = self.tasks.get(*seq) {
            seen.attempt = seen.attempt.max(task.attempt);
        }
    }
}
