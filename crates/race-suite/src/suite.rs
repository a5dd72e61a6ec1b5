use core::time::Duration;

use crate::{Target, check::Check};

/// Runs checks one after another and counts them.
pub(crate) struct Suite<'t, X> {
    target: &'t X,
    report: &'t mut dyn FnMut(&'static str),
    passed: usize,
}

impl<'t, X: Target> Suite<'t, X> {
    pub(crate) fn new(target: &'t X, report: &'t mut dyn FnMut(&'static str)) -> Self {
        Self {
            target,
            report,
            passed: 0,
        }
    }

    /// Runs one check.
    pub(crate) async fn check(
        &mut self,
        name: &'static str,
        check: impl AsyncFnOnce(&Check<'t, X>),
    ) {
        // A clock that counts milliseconds has just ticked when a check begins. If it ticked
        // between the beginning and the first poll of a race, all times would be one higher.
        self.target.sleep(Duration::from_millis(1)).await;
        check(&Check::new(self.target, name)).await;
        (self.report)(name);
        self.passed += 1;
    }

    pub(crate) fn passed(&self) -> usize {
        self.passed
    }
}

/// Runs checks in this order. The name of a check is that of its function.
macro_rules! run {
    ($suite:ident: $($check:ident),+ $(,)?) => {
        $($suite.check(stringify!($check), $check).await;)+
    };
}
pub(crate) use run;
