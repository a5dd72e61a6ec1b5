use hyper_delay_engine::sizes::Sizes;
use tokio::net::TcpListener;

/// Options of a server that are not in the configuration. Default: none.
#[derive(Debug, Default)]
pub struct ServeOptions(Parts);

/// The options, for the crates that serve.
#[doc(hidden)]
#[derive(Debug)]
pub struct Parts {
    /// Whether a store may be opened that lacks acknowledged tasks.
    pub accept_loss: bool,
    /// Accepts connections over HTTP.
    pub http: Option<TcpListener>,
    /// The sizes of the scheduler and the ledger.
    pub sizes: Sizes,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            accept_loss: false,
            http: None,
            sizes: Sizes::SERVER,
        }
    }
}

impl ServeOptions {
    /// Starts with what is left if acknowledged tasks are missing from the store. Otherwise such a
    /// start is refused. Default: false.
    #[must_use]
    pub const fn accept_loss(mut self, accept: bool) -> Self {
        self.0.accept_loss = accept;
        self
    }

    /// Serves health, metrics, requests and the page over HTTP to connections of `listener`, from
    /// now on and until the server has ended. Default: no listener; `Config::http_addr` is for the
    /// caller that binds one.
    #[must_use]
    pub fn http(mut self, listener: TcpListener) -> Self {
        self.0.http = Some(listener);
        self
    }

    /// Returns the options.
    #[doc(hidden)]
    #[must_use]
    pub fn into_parts(self) -> Parts {
        self.0
    }
}
