//! Writes the lines of the load. Its routes and ids need no escapes.

use std::io::Write as _;

use super::{ids::Ids, reply::Delivered};

/// Writes schedules that differ only in id and time.
#[derive(Debug)]
pub(super) struct Schedules {
    /// The part of a line after the time.
    end: Vec<u8>,
}

impl Schedules {
    pub(super) fn new(ids: &Ids, payload: &str) -> Self {
        let route = ids.route();
        let end = format!(",\"route_key\":\"{route}\",\"payload_base64\":\"{payload}\"}}\n");
        Self { end: end.into() }
    }

    pub(super) fn write(&self, ids: &Ids, number: u32, fire_at: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"schedule\",\"id\":\"");
        ids.write(number, out);
        write!(out, "\",\"fire_at\":{fire_at}").expect("writing to memory never fails");
        out.extend_from_slice(&self.end);
    }
}

pub(super) fn register(ids: &Ids, credit: u32, out: &mut Vec<u8>) {
    let (route, credit) = (ids.route(), credit.clamp(1, 65_535));
    let line = format!("{{\"kind\":\"register\",\"route_key\":\"{route}\",\"credit\":{credit}}}\n");
    out.extend_from_slice(line.as_bytes());
}

pub(super) fn cancel(ids: &Ids, number: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"kind\":\"cancel\",\"id\":\"");
    ids.write(number, out);
    out.extend_from_slice(b"\",\"route_key\":\"");
    out.extend_from_slice(ids.route().as_bytes());
    out.extend_from_slice(b"\"}\n");
}

pub(super) fn ack(ids: &Ids, delivered: Delivered, confirm: bool, out: &mut Vec<u8>) {
    let Delivered { number, attempt } = delivered;
    out.extend_from_slice(b"{\"kind\":\"ack\",\"id\":\"");
    ids.write(number, out);
    out.extend_from_slice(b"\",\"route_key\":\"");
    out.extend_from_slice(ids.route().as_bytes());
    write!(out, "\",\"attempt\":{attempt}").expect("writing to memory never fails");
    out.extend_from_slice(if confirm {
        b",\"confirm\":true}\n"
    } else {
        b"}\n"
    });
}
