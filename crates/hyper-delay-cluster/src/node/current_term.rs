//! The lease of the node, as its threads see it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use race_wheel::Tick;

use crate::{lease::Term, log::LeaseId};

/// The term that holds now. One task writes it; a read takes no lock.
///
/// A lease and its end are two words. Before the lease changes, the end is set to 0, and a reader
/// that sees the lease change in between reads both again. As no lease has the number of an earlier
/// one, a reader never combines a lease with the end of another.
#[derive(Debug, Default)]
pub(crate) struct CurrentTerm {
    lease: AtomicU64,
    /// 0: there is no term.
    until: AtomicU64,
    has_rival: AtomicBool,
}

impl CurrentTerm {
    /// Returns the term, also if it does not hold any more.
    pub(crate) fn load(&self) -> Option<Term> {
        loop {
            let lease = self.lease.load(Ordering::Acquire);
            let until = self.until.load(Ordering::Acquire);
            if self.lease.load(Ordering::Acquire) != lease {
                continue;
            }
            return (until != 0).then_some(Term {
                lease: LeaseId(lease),
                until: Tick::new(until),
            });
        }
    }

    /// Returns whether there is no term because another process has the name of this node.
    pub(crate) fn has_rival(&self) -> bool {
        self.has_rival.load(Ordering::Relaxed)
    }

    pub(super) fn note_rival(&self, has_rival: bool) {
        self.has_rival.store(has_rival, Ordering::Relaxed);
    }

    /// Only one task may call this.
    pub(super) fn publish(&self, term: Option<Term>) {
        let lease = self.lease.load(Ordering::Relaxed);
        let Some(term) = term else {
            return self.until.store(0, Ordering::Release);
        };
        if lease != term.lease.0 {
            self.until.store(0, Ordering::Release);
            self.lease.store(term.lease.0, Ordering::Release);
        }
        self.until.store(term.until.value(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn term(lease: u64, until: u64) -> Term {
        Term {
            lease: LeaseId(lease),
            until: Tick::new(until),
        }
    }

    #[test]
    fn the_term_that_was_published_last_is_read() {
        let terms = CurrentTerm::default();
        assert_eq!(terms.load(), None);
        for published in [Some(term(7, 10)), Some(term(7, 20)), None, Some(term(9, 5))] {
            terms.publish(published);
            assert_eq!(terms.load(), published);
        }
    }

    /// The end of each term is its lease times ten, or one more.
    #[test]
    fn a_lease_is_never_read_with_the_end_of_another() {
        let (terms, is_over) = (CurrentTerm::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            let readers = [0; 2].map(|_| {
                scope.spawn(|| {
                    let mut last = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let Some(Term { lease, until }) = terms.load() else {
                            continue;
                        };
                        assert_eq!(until.value() / 10, lease.0);
                        assert!(until.value() >= last, "it goes back");
                        last = until.value();
                    }
                })
            });
            for lease in 1..200_000 {
                terms.publish(Some(term(lease, lease * 10)));
                terms.publish(Some(term(lease, lease * 10 + 1)));
                if lease % 3 == 0 {
                    terms.publish(None);
                }
            }
            is_over.store(true, Ordering::Relaxed);
            for reader in readers {
                reader.join().unwrap();
            }
        });
    }
}
