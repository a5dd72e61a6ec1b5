//! `hickory_resolver` as a source of HTTPS records and addresses.

use std::io;

use hickory_resolver::{
    ConnectionProvider, Resolver,
    lookup::Lookup,
    net::NetError,
    proto::rr::{
        RData, RecordType as Type,
        rdata::{HTTPS, svcb::SvcParamValue},
    },
};

use crate::v3::{self, Query, RecordType, Records, ServiceRecord};

/// Asks for HTTPS records and addresses. A name that does not exist has no records.
#[cfg_attr(docsrs, doc(cfg(feature = "hickory")))]
impl<P: ConnectionProvider> v3::Lookup for Resolver<P> {
    async fn lookup(&self, query: Query) -> io::Result<Records> {
        let mut name = query.name.to_string();
        if query.is_absolute && !name.ends_with('.') {
            name.push('.');
        }
        let looked_up = match query.kind {
            RecordType::Https => self.lookup(name.as_str(), Type::HTTPS).await,
            RecordType::Aaaa => self.ipv6_lookup(name.as_str()).await,
            RecordType::A => self.ipv4_lookup(name.as_str()).await,
        };
        match looked_up {
            Ok(lookup) => Ok(records(&lookup, query.kind)),
            Err(error) if is_empty(&error) => Ok(query.kind.none()),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

fn is_empty(error: &NetError) -> bool {
    error.is_nx_domain() || error.is_no_records_found()
}

fn records(lookup: &Lookup, kind: RecordType) -> Records {
    let data = lookup.answers().iter().map(|record| &record.data);
    match kind {
        RecordType::Https => Records::Https(
            data.filter_map(|data| match data {
                RData::HTTPS(https) => Some(service_record(https)),
                _ => None, // a CNAME on the way
            })
            .collect(),
        ),
        RecordType::Aaaa => Records::Aaaa(
            data.filter_map(|data| match data {
                RData::AAAA(v6) => Some(v6.0),
                _ => None,
            })
            .collect(),
        ),
        RecordType::A => Records::A(
            data.filter_map(|data| match data {
                RData::A(v4) => Some(v4.0),
                _ => None,
            })
            .collect(),
        ),
    }
}

fn service_record(https: &HTTPS) -> ServiceRecord {
    // Not in Unicode: names are compared in the form that they have on the wire.
    let target = https.target_name.to_ascii();
    let record = ServiceRecord::service(https.svc_priority, &target);
    let params = https.svc_params.iter();
    params.fold(record, |record, (key, value)| match value {
        SvcParamValue::Mandatory(keys) => {
            record.mandatory(keys.0.iter().map(|key| u16::from(*key)))
        }
        SvcParamValue::Alpn(protocols) => record.alpn(protocols.0.iter().cloned()),
        SvcParamValue::NoDefaultAlpn => record.no_default_alpn(),
        SvcParamValue::Port(port) => record.port(*port),
        SvcParamValue::Ipv4Hint(hints) => record.ipv4_hints(hints.0.iter().map(|it| it.0)),
        SvcParamValue::Ipv6Hint(hints) => record.ipv6_hints(hints.0.iter().map(|it| it.0)),
        SvcParamValue::EchConfigList(configs) => record.ech(configs.0.as_slice()),
        SvcParamValue::Unknown(_) => record.other(u16::from(*key)),
    })
}
