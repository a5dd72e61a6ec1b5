//! Answers of the log.

use race_wheel::Tick;

use super::Shard;
use crate::{
    call_id::CallId,
    log::{LogAnswer, LogUnanswered, NodeName},
};
use hyper_delay_engine::clock::Now;
use hyper_delay_store::Store;

impl<S: Store> Shard<S> {
    /// The log has answered a request, or not.
    pub(super) fn answered(
        &mut self,
        call: CallId,
        answer: Result<LogAnswer, LogUnanswered>,
        now: Now,
    ) {
        let again = now.after(self.setup.pause());
        match answer {
            Ok(LogAnswer::Tail(tail)) => self.handle_tail(call, tail, now),
            Ok(LogAnswer::Leader(led)) => self.election.answered(call, led, again, now),
            Ok(LogAnswer::Appended(appended)) => self.appended(call, appended, now),
            Ok(LogAnswer::Reported(noted)) => self.disk_progress.reported(call, noted),
            Ok(LogAnswer::Reports(reports)) => self.reports_read(call, reports),
            Ok(LogAnswer::First(seq, entry)) => self.trimming.set_first(call, seq, &entry),
            Ok(LogAnswer::Done) => {
                self.trimming.trimmed(call);
                self.election.done(call);
            }
            Ok(
                LogAnswer::Alive(_)
                | LogAnswer::Announced(_)
                | LogAnswer::Charter(_)
                | LogAnswer::ClusterCreated(_)
                | LogAnswer::Members(_),
            ) => {}
            Err(_) => self.unanswered(call, again),
        }
    }

    fn reports_read(&mut self, call: CallId, reports: Vec<(NodeName, u64)>) {
        let is_own = |(node, _): &&(NodeName, u64)| *node == self.setup.member.node;
        let own = reports.iter().find(is_own).map(|(_, seq)| *seq);
        self.disk_progress.set_report_in_log(own);
        self.trimming.set_reports(call, reports);
    }

    /// Repeats a request later, of whichever part it is.
    fn unanswered(&mut self, call: CallId, again: Tick) {
        self.disk_progress.unanswered(call, again);
        self.journal.unanswered(call, again);
        self.election.unanswered(call, again);
        if let Some(leading) = &mut self.leading {
            leading.append_unanswered(call, again);
        }
        self.trimming.unanswered(call, again);
    }
}
