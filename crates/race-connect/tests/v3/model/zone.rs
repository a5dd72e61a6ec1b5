//! Records of a random zone.

use std::net::{Ipv4Addr, Ipv6Addr};

use race_connect::v3::ServiceRecord;

use super::Draw;

/// An HTTPS record, in parts that the model can read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Record {
    pub(crate) priority: u16,
    /// Empty for the root.
    pub(crate) target: String,
    pub(crate) alpn: Option<Vec<&'static str>>,
    pub(crate) no_default_alpn: bool,
    pub(crate) port: Option<u16>,
    pub(crate) v4: Vec<Ipv4Addr>,
    pub(crate) v6: Vec<Ipv6Addr>,
    pub(crate) ech: Option<u8>,
    pub(crate) mandatory: Vec<u16>,
    pub(crate) others: Vec<u16>,
}

impl Record {
    pub(crate) fn build(&self) -> ServiceRecord {
        let mut record = ServiceRecord::service(self.priority, &format!("{}.", self.target))
            .ipv4_hints(self.v4.clone())
            .ipv6_hints(self.v6.clone())
            .mandatory(self.mandatory.clone());
        if let Some(alpn) = &self.alpn {
            record = record.alpn(alpn.iter().copied());
        }
        if self.no_default_alpn {
            record = record.no_default_alpn();
        }
        if let Some(port) = self.port {
            record = record.port(port);
        }
        if let Some(ech) = self.ech {
            record = record.ech([ech]);
        }
        self.others.iter().fold(record, |it, key| it.other(*key))
    }
}

/// The names of a zone; the first is the host.
pub(crate) fn name(number: usize) -> String {
    format!("n{number}.example")
}

/// The shape of the HTTPS records of a zone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A few names, anything.
    Mixed,
    /// Each name is an alias of the next.
    Chain,
    /// One name has many services.
    Many,
}

pub(crate) fn https(draw: &mut Draw, shape: Shape, owner: usize) -> Vec<Record> {
    match shape {
        Shape::Chain if !draw.one_in(20) => vec![alias(draw, name((owner + 1) % 13))],
        Shape::Many if !draw.one_in(8) => {
            let services = (1..=12).map(|number| Record {
                priority: number,
                target: match draw.one_in(4) {
                    true => name(draw.below(13)),
                    false => name(usize::from(number)),
                },
                no_default_alpn: false,
                mandatory: Vec::new(),
                ..service(draw, 1)
            });
            services.collect()
        }
        _ => mixed(draw),
    }
}

fn mixed(draw: &mut Draw) -> Vec<Record> {
    let services = draw.below(4);
    let mut records: Vec<_> = (0..services)
        .map(|_| {
            let priority = 1 + draw.below(3) as u16;
            service(draw, priority)
        })
        .collect();
    if draw.one_in(4) {
        for _ in 0..=draw.below(2) {
            let target = match draw.one_in(12) {
                true => String::new(),
                false => name(draw.below(5)),
            };
            records.push(alias(draw, target));
        }
    }
    records
}

fn alias(draw: &mut Draw, target: String) -> Record {
    let parameters = match draw.one_in(4) {
        true => service(draw, 1),
        false => Record::default(),
    };
    Record {
        priority: 0,
        target,
        ..parameters
    }
}

fn service(draw: &mut Draw, priority: u16) -> Record {
    const ALPN: [&[&str]; 6] = [
        &["h3"],
        &["h2"],
        &["h3", "h2"],
        &["http/1.1"],
        &["x"],
        &["h3", "x"],
    ];
    let target = match draw.one_in(3) {
        true => String::new(),
        false => name(draw.below(5)),
    };
    let mut record = Record {
        priority,
        target,
        alpn: (!draw.one_in(4)).then(|| draw.of(&ALPN).to_vec()),
        no_default_alpn: draw.one_in(4),
        port: draw.of(&[None, None, None, Some(443), Some(8443), Some(0)]),
        ech: draw.one_in(3).then(|| draw.below(3) as u8),
        ..Record::default()
    };
    if draw.one_in(3) {
        record.v4 = ipv4(draw, 3);
    }
    if draw.one_in(3) {
        record.v6 = ipv6(draw, 3);
    }
    if draw.one_in(5) {
        record.others.push(9);
    }
    for _ in 0..draw.below(4).saturating_sub(1) {
        record.mandatory.push(draw.of(&[0, 1, 2, 3, 4, 5, 6, 9]));
    }
    record
}

/// Fewer than `count` addresses out of few, so that names share them.
pub(crate) fn ipv4(draw: &mut Draw, count: usize) -> Vec<Ipv4Addr> {
    let one = |draw: &mut Draw| match draw.below(12) {
        0 => Ipv4Addr::LOCALHOST,
        1 => Ipv4Addr::new(10, 0, 0, 1),
        _ => Ipv4Addr::new(192, 0, 2, draw.below(count.max(6)) as u8),
    };
    let number = draw.below(count);
    (0..number).map(|_| one(draw)).collect()
}

pub(crate) fn ipv6(draw: &mut Draw, count: usize) -> Vec<Ipv6Addr> {
    let number = draw.below(count);
    let one = |draw: &mut Draw| {
        let last = draw.below(count.max(6)) as u16;
        match draw.below(8) {
            0 => Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0xc000, 0x200 + last),
            1 => Ipv6Addr::new(0x2001, 0xdb8, 0x64, 0, 0, 0, 0xc000, 0x200 + last),
            2 => Ipv6Addr::new(0x2001, 0xdc0, 0, 0, 0, 0, 0, last),
            _ => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last),
        }
    };
    (0..number).map(|_| one(draw)).collect()
}
