/// What a start is allowed to do, beyond the configuration. Default: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServeOptions {
    pub(super) accept_loss: bool,
}

impl ServeOptions {
    /// Starts with what is left if acknowledged tasks are missing from the store. Otherwise such a
    /// start is refused. Default: false.
    #[must_use]
    pub const fn accept_loss(mut self, accept: bool) -> Self {
        self.accept_loss = accept;
        self
    }
}
