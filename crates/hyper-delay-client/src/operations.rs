use std::time::{Duration, SystemTime};

use crate::bulk::{Deleted, Jobs, Paused, Stopped};
use crate::wire::Request;
use crate::{
    AuditQuery, Bulk, Client, Forecast, GetQuery, Job, ListQuery, ReasonsQuery, RequestError, time,
};

/// Requests of operators.
impl Client {
    /// Requests one task: `.await` sends it. Resolves to `None` if there is no such task.
    pub fn get(&self, route: impl Into<String>, id: impl Into<String>) -> GetQuery {
        GetQuery::new(self.clone(), route.into(), id.into())
    }

    /// Requests tasks in order of time: `.await` sends it. See [`ListQuery`] for options.
    pub fn list(&self) -> ListQuery {
        ListQuery::new(self.clone())
    }

    /// Requests the numbers of dead letters by reason: `.await` sends it.
    pub fn reasons(&self) -> ReasonsQuery {
        ReasonsQuery::new(self.clone())
    }

    /// Requests how many tasks wait for the minutes, hours and days ahead.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply.
    ///
    /// # Cancel safety
    ///
    /// Dropping it discards the reply.
    pub async fn forecast(&self) -> Result<Forecast, RequestError> {
        self.ask(Request::of("future")).await
    }

    /// Removes a dead task. Returns false if the task is not dead. To remove a task in any state,
    /// use [`cancel`](Self::cancel).
    ///
    /// It is not sent again if the connection is lost before the reply.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply: then the task may or may not be removed.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the task may or may not be removed, now or later.
    pub async fn delete(&self, route: &str, id: &str) -> Result<bool, RequestError> {
        let request = Request {
            id: Some(id),
            route_key: Some(route),
            ..Request::of("delete")
        };
        let Deleted { found } = self.ask_once(request).await?;
        Ok(found)
    }

    /// Makes every dead letter of a route due now: `.await` begins it. See [`Bulk`] for options.
    pub fn kick_all(&self, route: impl Into<String>) -> Bulk {
        Bulk::new(self.clone(), "kick_all", route.into())
    }

    /// Removes every dead letter of a route: `.await` begins it. See [`Bulk`] for options.
    pub fn delete_all(&self, route: impl Into<String>) -> Bulk {
        Bulk::new(self.clone(), "delete_all", route.into())
    }

    /// Removes every waiting, parked and dead task of a route: `.await` begins it.
    pub fn purge(&self, route: impl Into<String>) -> Bulk {
        Bulk::new(self.clone(), "purge", route.into())
    }

    /// Makes every waiting task of a route due now, and changes nothing else of it: `.await` begins
    /// it. Tasks in flight stay. See [`Bulk`] for options.
    pub fn run_now_all(&self, route: impl Into<String>) -> Bulk {
        Bulk::new(self.clone(), "run_now_all", route.into())
    }

    /// Makes every waiting and parked task of a route due at `due`, rounded up to a millisecond:
    /// `.await` begins it. A past time means now. Tasks in flight stay, and so do tasks that would
    /// expire before. See [`Bulk`] for options.
    pub fn reschedule_all(&self, route: impl Into<String>, due: SystemTime) -> Bulk {
        self.reschedule_all_millis(route, time::to_millis(due))
    }

    /// As [`reschedule_all`](Self::reschedule_all), with a time in Unix milliseconds, at most 2^53.
    pub fn reschedule_all_millis(&self, route: impl Into<String>, due: u64) -> Bulk {
        Bulk::new(self.clone(), "reschedule_all", route.into()).due(due)
    }

    /// As [`reschedule_all`](Self::reschedule_all), but each task is due this much later than before,
    /// rounded up to a millisecond. The server refuses zero.
    pub fn postpone_all(&self, route: impl Into<String>, shift: Duration) -> Bulk {
        Bulk::new(self.clone(), "reschedule_all", route.into()).shift(shift)
    }

    /// Requests the bulk operations, the newest first.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply.
    ///
    /// # Cancel safety
    ///
    /// Dropping it discards the reply.
    pub async fn jobs(&self) -> Result<Vec<Job>, RequestError> {
        let Jobs { jobs } = self.ask(Request::of("jobs")).await?;
        Ok(jobs)
    }

    /// Ends a bulk operation before its next batch, and returns once that is on disk. Returns false if
    /// it was not running.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the operation may or may not end.
    pub async fn stop_job(&self, job: u64) -> Result<bool, RequestError> {
        let request = Request {
            job: Some(job),
            ..Request::of("stop")
        };
        let Stopped { found } = self.ask_once(request).await?;
        Ok(found)
    }

    /// Pauses a route: none of its tasks are delivered until it is [resumed](Self::resume), even
    /// after a restart of the server. Deliveries in flight continue. Returns false if it was paused
    /// already.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the route may or may not be paused, now or later.
    pub async fn pause(&self, route: &str) -> Result<bool, RequestError> {
        let request = Request {
            route_key: Some(route),
            ..Request::of("pause")
        };
        let Paused { changed } = self.ask_once(request).await?;
        Ok(changed)
    }

    /// Delivers the tasks of a paused route again. Returns false if it was not paused.
    ///
    /// # Errors
    ///
    /// The server refuses it, or there is no reply.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it resolves, the route may or may not be resumed, now or later.
    pub async fn resume(&self, route: &str) -> Result<bool, RequestError> {
        let request = Request {
            route_key: Some(route),
            ..Request::of("resume")
        };
        let Paused { changed } = self.ask_once(request).await?;
        Ok(changed)
    }

    /// Requests what operators did: `.await` sends it. See [`AuditQuery`] for options.
    pub fn audit(&self) -> AuditQuery {
        AuditQuery::new(self.clone())
    }
}
