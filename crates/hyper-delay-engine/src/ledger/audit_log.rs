use super::{Actor, AuditedOp, Op, Outcome, scan::scan_meta, write_buffer::WriteBuffer};
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{AuditFilter, AuditLine, BulkJob, key},
};

/// The log of the changes that operators have made. The last lines are kept.
#[derive(Debug)]
pub(super) struct AuditLog {
    /// The number of the next line.
    next: u64,
}

impl AuditLog {
    /// Reads the number of the last line of a store. Without lines, the next number is `first`.
    pub(super) fn open(store: &impl Store, first: u64) -> Result<Self, StoreError> {
        let mut last = first - 1;
        scan_meta(store, key::AUDIT, |_, value| {
            last = last.max(AuditLine::decode(value)?.number);
            Ok(())
        })?;
        Ok(Self { next: last + 1 })
    }

    /// Adds a line to the batch if the operation has changed anything.
    pub(super) fn add_operation(
        &mut self,
        audited: &AuditedOp,
        outcome: &Outcome,
        now: u64,
        writes: &mut WriteBuffer<impl Store>,
    ) {
        let AuditedOp { op, actor } = audited;
        let Some(AuditedChange {
            act,
            route,
            id,
            job,
        }) = AuditedChange::of(op, outcome)
        else {
            return;
        };
        let (by, address) = actor.to_stored();
        let line = AuditLine {
            number: self.next,
            at: now,
            act: act.into(),
            route: route.into(),
            id: id.map(Box::from),
            job,
            tasks: None,
            by,
            address,
            task_move: match op {
                Op::BeginBulk(bulk) => bulk.act.task_move(),
                _ => None,
            },
            filter: match op {
                Op::BeginBulk(bulk) => Some(AuditFilter {
                    reason: bulk.filter.reason.as_deref().map(Box::from),
                    from: bulk.filter.from,
                    until: bulk.filter.until,
                    in_flight: bulk.in_flight,
                }),
                _ => None,
            },
        };
        self.add(&line, writes);
    }

    /// Adds the end of a bulk operation to the batch.
    pub(super) fn add_bulk_end(
        &mut self,
        (id, job): (u64, &BulkJob),
        actor: &Actor,
        now: u64,
        writes: &mut WriteBuffer<impl Store>,
    ) {
        let (by, address) = actor.to_stored();
        let line = AuditLine {
            number: self.next,
            at: now,
            act: job.state.as_str().into(),
            route: job.route.clone(),
            id: None,
            job: Some(id),
            tasks: Some(job.changed),
            by,
            address,
            filter: Some(AuditFilter {
                reason: job.reason.clone(),
                from: job.from,
                until: job.until,
                in_flight: job.in_flight,
            }),
            task_move: job.act().task_move(),
        };
        self.add(&line, writes);
    }

    fn add(&mut self, line: &AuditLine, writes: &mut WriteBuffer<impl Store>) {
        let key = key::audit(line.ring_slot());
        writes.put(Space::Meta, key, line.encode());
        self.next += 1;
    }
}

/// The change that an operation of an operator has made.
pub(crate) struct AuditedChange<'a> {
    /// The name of the operation.
    pub act: &'static str,
    /// The route.
    pub route: &'a str,
    /// The task, if it was one.
    pub id: Option<&'a str>,
    /// The number of the bulk operation that it began.
    pub job: Option<u64>,
}

impl<'a> AuditedChange<'a> {
    /// `None` if the operation has changed nothing, or leaves no line in the audit.
    pub(crate) fn of(op: &'a Op, outcome: &Outcome) -> Option<Self> {
        let job = match outcome {
            Outcome::BulkBegun(job) => Some(*job),
            Outcome::Applied(true) | Outcome::Cancelled(Some(_)) | Outcome::Kicked(Some(_)) => None,
            _ => return None,
        };
        let (act, route, id) = match op {
            Op::Kick { route, id, .. } => ("kick", route, Some(&**id)),
            Op::Delete { route, id } => ("delete", route, Some(&**id)),
            Op::Pause(route) => ("pause", route, None),
            Op::Resume(route) => ("resume", route, None),
            Op::BeginBulk(bulk) => (bulk.act.as_str(), &bulk.route, None),
            _ => return None,
        };
        Some(Self {
            act,
            route,
            id,
            job,
        })
    }
}
