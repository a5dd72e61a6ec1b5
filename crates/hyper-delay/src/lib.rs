//! A durable delayed-task server: clients schedule payloads for a time, and the server delivers
//! them at that time, over a long-lived connection, until they are acknowledged.
//!
//! [`run`] is the server, [`run_reloadable`] one whose configuration can change; the binary
//! `hyper-delay` adds a command line. `PROTOCOL.md` specifies the protocol, `CONFIGURATION.md` the
//! configuration.
//!
//! The default features are `cli`, the command line, and `cluster`, several nodes that keep the same
//! tasks. A program that embeds the server can turn them off with `default-features = false`, and
//! compiles fewer dependencies.
//!
//! ```text
//! connection ──line──▶ protocol ──▶ scheduler ──job──▶ committer ──▶ ledger ──▶ store
//!      ▲                                │ ▲                │
//!      └────────── replies, deliveries ─┘ └── committed ───┘
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod run;

#[cfg(feature = "cli")]
pub mod command;
#[cfg(feature = "cli")]
#[doc(hidden)]
#[cfg_attr(
    not(feature = "internals"),
    expect(unreachable_pub, reason = "`internals` re-exports it")
)]
mod load;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;

pub mod access {
    //! Access control: tokens, and the rights that they give on routes.

    #[doc(inline)]
    pub use hyper_delay_protocol::access::{Grant, Right, Routes, Secret, TokenFileError, Tokens};
}

pub mod config {
    //! The configuration of the server.
    //!
    //! [`Config::load`] reads a JSON file. Every field is optional; unknown fields and values out of
    //! range are errors. `CONFIGURATION.md` has the table of the fields.

    #[doc(inline)]
    pub use hyper_delay_config::{
        AllowedHosts, Changes, Cluster, Config, ConfigError, EtcdTlsFiles, EtcdUser, Exposed,
        HttpHosts, Loaded, LogFormat, NodeTlsFiles, Overrides, Quota, Source, Sync, TlsFiles,
    };
}

pub mod protocol {
    //! The line protocol as pure functions from bytes to values and back: no sockets, no clock, no
    //! configuration. `PROTOCOL.md` is normative.

    #[doc(inline)]
    pub use hyper_delay_protocol::{
        Accept, AdminRequest, AuditRow, BulkAct, BulkMove, BulkMoveTo, BulkRequest, Code,
        Compression, Content, Counts, Credential, DeadTask, Delivery, DeliverySelector, Due,
        DueCounts, Encoder, Filter, Headers, JobRow, Line, Lines, ListRequest, MoveTo, ReadRequest,
        Reason, ReasonRow, Refusal, RegisterMode, Reply, Request, RequestKind, RouteStats,
        Schedule, SessionRequest, Spans, Stats, TaskRequest, TaskState, TaskView, Terms, TooLong,
        Version, parse, parse_strict,
    };
    // Their names before.
    #[doc(no_inline)]
    pub use hyper_delay_protocol::{
        DeliverySelector as Named, DueCounts as Future, ListRequest as List, RegisterMode as Mode,
        TaskState as State, TaskView as Seen,
    };
}

#[cfg(feature = "cluster")]
#[doc(inline)]
pub use hyper_delay_cluster::ClusterError;
#[doc(inline)]
pub use hyper_delay_server::tls::TlsError;
#[doc(inline)]
pub use hyper_delay_server::{ServeError, ServeOptions};
#[doc(inline)]
pub use hyper_delay_store::StoreError;
pub use run::{run, run_reloadable};
