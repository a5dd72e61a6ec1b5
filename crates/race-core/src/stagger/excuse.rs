/// Whether a start that is late is excused, so that it is not made up for.
#[derive(Clone, Debug, Default)]
pub(super) struct Excuse {
    /// Something other than time has held up the due start since it was last asked for.
    is_held: bool,
    /// Something other than time held up the due start.
    is_excused: bool,
}

impl Excuse {
    #[inline]
    pub(super) fn is_excused(&self) -> bool {
        self.is_excused
    }

    /// Notes that something other than time holds up the due start.
    #[inline]
    pub(super) fn hold(&mut self) {
        self.is_held = true;
    }

    /// Excuses the start that is asked for if something has held it up since the last question.
    #[inline]
    pub(super) fn start_is_asked_for(&mut self) {
        self.is_excused = core::mem::take(&mut self.is_held);
    }

    /// Keeps the excuse, because the start that was asked for did not happen yet.
    #[inline]
    pub(super) fn start_is_put_off(&mut self) {
        self.is_held = self.is_excused;
    }
}
