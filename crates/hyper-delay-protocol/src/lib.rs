//! The line protocol as pure functions from bytes to values and back: no sockets, no clock, no
//! configuration.
//!
//! `PROTOCOL.md` is normative. [`Lines`] splits bytes into lines, [`parse`](fn@parse) turns a line
//! into a [`Line`] or a [`Refusal`], and [`Encoder`] and [`Delivery`] write the lines of the
//! server:
//!
//! ```
//! use hyper_delay_protocol::{Encoder, Lines, Reply, Request, TaskRequest, parse};
//!
//! let mut lines = Lines::new(65_536);
//! lines.room().extend_from_slice(b"{\"kind\":\"ping\",\"tag\":\"7\"}\r\n{\"kind\"");
//! let line = parse(lines.next().unwrap().unwrap()).unwrap();
//! assert_eq!(line.request, Request::Task(TaskRequest::Ping));
//! assert!(lines.next().is_none(), "the second line has not ended yet");
//!
//! let mut out = Vec::new();
//! Encoder::default().encode(&Reply::Pong, line.tag.as_deref(), &mut out);
//! assert_eq!(out, b"{\"kind\":\"pong\",\"tag\":\"7\"}\n");
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod access;
pub mod inflate;
pub mod own_route;
pub mod secret;
pub mod trace_context;

mod accept;
mod compression;
mod credential;
mod payload;

mod lines;

mod refusal;
mod request;

mod due;
mod exported_fields;
mod field;
mod field_name;
mod parse;
mod request_fields;
mod request_kind;
mod rfc_3339;
mod unix_time;

mod json_writer;

mod bulk_move;
mod dead_letter;
mod delivery;
mod failure;
mod operator_requests;
mod reply;
mod reply_encoder;
mod stats;
mod task_queries;
mod version;

mod headers;
mod node_encoding;
mod terms;

pub use accept::Accept;
pub use bulk_move::{BulkMove, BulkMoveTo};
pub use compression::Compression;
pub use credential::Credential;
pub use dead_letter::DeadTask;
pub use delivery::Delivery;
pub use due::Due;
pub use exported_fields::{read_delay, read_time};
pub use failure::{FailureKind, LastFailure};
pub use field::EXACT;
pub use headers::Headers;
pub use lines::{Lines, TooLong};
pub use operator_requests::{AuditRow, BulkAct, BulkRequest, JobRow, ReasonRow};
pub use parse::{parse, parse_strict};
pub use refusal::{Code, Refusal};
pub use reply::{Reason, Reply};
pub use reply_encoder::Encoder;
pub use request::{
    AdminRequest, DeliverySelector, Line, MoveTo, ReadRequest, RegisterMode, Request, RequestNames,
    Schedule, SessionRequest, TaskRequest,
};
pub use request_kind::RequestKind;
pub use rfc_3339::{Rfc3339Error, in_both_forms, parse_rfc_3339};
pub use stats::{Counts, RouteStats, Stats};
pub use task_queries::{Content, DueCounts, Filter, ListRequest, Spans, TaskState, TaskView};
pub use terms::Terms;
pub use version::Version;
