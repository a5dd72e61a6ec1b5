use super::{Actor, Audited, Op, Outcome, scan::scan_meta, writes::Writes};
use hyper_delay_store::{
    Space, Store, StoreError,
    record::{AuditFilter, AuditLine, Job, key},
};

/// The lines that tell what operators did. The last ones are kept.
#[derive(Debug)]
pub(super) struct Audit {
    /// The number of the next line.
    next: u64,
}

impl Audit {
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
    pub(super) fn operation(
        &mut self,
        audited: &Audited,
        outcome: &Outcome,
        now: u64,
        writes: &mut Writes<impl Store>,
    ) {
        let Audited { op, actor } = audited;
        let Some(Changed {
            act,
            route,
            id,
            job,
        }) = Changed::by(op, outcome)
        else {
            return;
        };
        let (by, address) = actor.stored();
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
            filter: match op {
                Op::Begin(bulk) => Some(AuditFilter {
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
    pub(super) fn end(
        &mut self,
        (id, job): (u64, &Job),
        actor: &Actor,
        now: u64,
        writes: &mut Writes<impl Store>,
    ) {
        let (by, address) = actor.stored();
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
        };
        self.add(&line, writes);
    }

    fn add(&mut self, line: &AuditLine, writes: &mut Writes<impl Store>) {
        let key = key::audit(line.place());
        writes.put(Space::Meta, key, line.encode());
        self.next += 1;
    }
}

/// What an operation of an operator has changed.
pub(crate) struct Changed<'a> {
    /// The name of the operation.
    pub act: &'static str,
    /// The route.
    pub route: &'a str,
    /// The task, if it was one.
    pub id: Option<&'a str>,
    /// The number of the bulk operation that it began.
    pub job: Option<u64>,
}

impl<'a> Changed<'a> {
    /// `None` if the operation has changed nothing, or leaves no line in the audit.
    pub(crate) fn by(op: &'a Op, outcome: &Outcome) -> Option<Self> {
        let job = match outcome {
            Outcome::Began(job) => Some(*job),
            Outcome::Moved(true) | Outcome::Cancelled(Some(_)) | Outcome::Kicked(Some(_)) => None,
            _ => return None,
        };
        let (act, route, id) = match op {
            Op::Kick { route, id, .. } => ("kick", route, Some(&**id)),
            Op::Delete { route, id } => ("delete", route, Some(&**id)),
            Op::Pause(route) => ("pause", route, None),
            Op::Resume(route) => ("resume", route, None),
            Op::Begin(bulk) => (bulk.act.as_str(), &bulk.route, None),
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
