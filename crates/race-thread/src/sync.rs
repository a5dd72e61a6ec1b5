//! The lock, the condition variable and the clock of the driver: the system's, or under loom a
//! model.

#[cfg(loom)]
pub(crate) use self::model::{Condvar, now};
#[cfg(loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic::AtomicUsize};

#[cfg(not(loom))]
pub(crate) use crate::clock::now;
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicUsize};

/// A clock that a test sets. Loom's condition variable never times out; this one does when the
/// clock is set.
#[cfg(loom)]
mod model {
    use std::{
        sync::{
            LockResult,
            atomic::{AtomicU64 as Plain, Ordering::Relaxed},
        },
        time::Duration,
    };

    use loom::sync::{MutexGuard, atomic::AtomicU64};
    use race_core::Moment;

    loom::lazy_static! {
        static ref NOW: AtomicU64 = AtomicU64::new(0);
    }

    pub(crate) fn now() -> Moment {
        Moment::from_nanos(NOW.load(Relaxed))
    }

    pub(crate) struct Condvar {
        condition: loom::sync::Condvar,
        /// When the waiting thread times out. Used only under the lock.
        until: Plain,
    }

    impl Condvar {
        pub(crate) fn new() -> Self {
            let condition = loom::sync::Condvar::new();
            let until = Plain::new(u64::MAX);
            Self { condition, until }
        }

        pub(crate) fn wait<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
        ) -> LockResult<MutexGuard<'a, T>> {
            self.until.store(u64::MAX, Relaxed);
            self.condition.wait(guard)
        }

        pub(crate) fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            time: Duration,
        ) -> LockResult<(MutexGuard<'a, T>, ())> {
            self.until.store((now() + time).as_nanos(), Relaxed);
            Ok((
                self.condition.wait(guard).expect("loom does not poison"),
                (),
            ))
        }

        pub(crate) fn notify_one(&self) {
            self.condition.notify_one();
        }

        /// Sets the clock, and notifies the waiting thread if that makes it time out.
        pub(crate) fn advance<T>(&self, _lock: &MutexGuard<'_, T>, to: Moment) {
            NOW.store(to.as_nanos(), Relaxed);
            if self.until.load(Relaxed) <= to.as_nanos() {
                self.condition.notify_one();
            }
        }
    }
}
