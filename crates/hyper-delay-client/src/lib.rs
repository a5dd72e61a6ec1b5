//! An async client of the `hyper-delay` server.
