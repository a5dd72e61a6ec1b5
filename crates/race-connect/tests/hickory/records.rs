//! HTTPS records, as the resolver gives them to a discovery.

use std::io;

use race_connect::{
    HappyEyeballs,
    hickory_resolver::proto::{
        op::ResponseCode,
        rr::{
            Name, RData, RecordType as Type,
            rdata::{
                HTTPS, NULL, SVCB,
                svcb::{
                    Alpn, EchConfigList, IpHint, Mandatory, SvcParamKey, SvcParamValue, Unknown,
                },
            },
        },
    },
    tokio::Connector,
    v3::{self, Discovery, Network, Origin, Query, RecordType, Records, ServiceRecord},
};
use tokio::net::TcpListener;

use crate::{
    HOST, PATIENCE,
    dns::{Dns, Reply},
};

fn https(
    priority: u16,
    target: &str,
    params: impl IntoIterator<Item = (SvcParamKey, SvcParamValue)>,
) -> RData {
    let target = Name::from_ascii(target).unwrap();
    RData::HTTPS(HTTPS(SVCB::new(
        priority,
        target,
        params.into_iter().collect(),
    )))
}

fn port(port: u16) -> (SvcParamKey, SvcParamValue) {
    (SvcParamKey::Port, SvcParamValue::Port(port))
}

async fn lookup(dns: &Dns, name: &str, kind: RecordType, is_absolute: bool) -> io::Result<Records> {
    let name = v3::Name::new(name);
    let query = Query {
        name,
        kind,
        is_absolute,
    };
    v3::Lookup::lookup(&dns.resolver, query).await
}

/// What the resolver says of the host if the server replies so.
async fn answer(reply: Reply, kind: RecordType) -> io::Result<Records> {
    let dns = Dns::of(&[], move |_, _| reply.clone()).await;
    lookup(&dns, HOST, kind, true).await
}

#[tokio::test]
async fn all_parameters_of_a_record_arrive() {
    let params = [
        (
            SvcParamKey::Mandatory,
            SvcParamValue::Mandatory(Mandatory(vec![SvcParamKey::Alpn, SvcParamKey::Key(7)])),
        ),
        (
            SvcParamKey::Alpn,
            SvcParamValue::Alpn(Alpn(vec!["h3".to_owned(), "h2".to_owned()])),
        ),
        (SvcParamKey::NoDefaultAlpn, SvcParamValue::NoDefaultAlpn),
        port(8_443),
        (
            SvcParamKey::Ipv4Hint,
            SvcParamValue::Ipv4Hint(IpHint(vec!["192.0.2.1".parse().unwrap()])),
        ),
        (
            SvcParamKey::EchConfigList,
            SvcParamValue::EchConfigList(EchConfigList(vec![1, 2, 3])),
        ),
        (
            SvcParamKey::Ipv6Hint,
            SvcParamValue::Ipv6Hint(IpHint(vec!["2001:db8::1".parse().unwrap()])),
        ),
        (
            SvcParamKey::Key(7),
            SvcParamValue::Unknown(Unknown(vec![9])),
        ),
    ];
    let records = Reply::Records(vec![
        https(2, "cdn.example.", params),
        https(1, ".", []),
        https(0, "Other.example.", []),
    ]);
    let answer = answer(records, RecordType::Https).await.unwrap();
    let full = ServiceRecord::service(2, "cdn.example")
        .mandatory([1, 7])
        .alpn(["h3", "h2"])
        .no_default_alpn()
        .port(8_443)
        .ipv4_hints(["192.0.2.1".parse().unwrap()])
        .ipv6_hints(["2001:db8::1".parse().unwrap()])
        .ech([1, 2, 3])
        .other(7);
    let expected = [
        full,
        ServiceRecord::service(1, "."),
        ServiceRecord::alias("other.example"),
    ];
    let Records::Https(mut answer) = answer else {
        panic!("{answer:?}");
    };
    answer.sort_by_key(|record| expected.iter().position(|it| it == record));
    assert_eq!(answer, expected);
}

/// Names are compared, and asked for, in the form that they have on the wire.
#[tokio::test]
async fn international_target_keeps_its_ascii_form() {
    let records = Reply::Records(vec![https(1, "xn--mnchen-3ya.example.", [])]);
    let answer = answer(records, RecordType::Https).await.unwrap();
    let expected = ServiceRecord::service(1, "xn--mnchen-3ya.example");
    assert_eq!(answer, Records::Https(vec![expected]));
}

#[tokio::test]
async fn cname_is_followed_and_an_alias_record_is_not() {
    let target = Name::from_ascii("b.example.").unwrap();
    let alias = Reply::Alias(target, vec![https(0, "c.example.", [])]);
    let dns = Dns::of(&[], move |_, _| alias.clone()).await;
    let answer = lookup(&dns, HOST, RecordType::Https, true).await.unwrap();
    let expected = ServiceRecord::alias("c.example");
    assert_eq!(answer, Records::Https(vec![expected]));
    assert_eq!(dns.names(), ["host.example."]);
}

#[tokio::test]
async fn addresses_arrive() {
    let v6 = answer(Reply::Addresses(&["2001:db8::1"]), RecordType::Aaaa).await;
    assert_eq!(
        v6.unwrap(),
        Records::Aaaa(vec!["2001:db8::1".parse().unwrap()])
    );
    let v4 = answer(Reply::Addresses(&["192.0.2.1"]), RecordType::A).await;
    assert_eq!(v4.unwrap(), Records::A(vec!["192.0.2.1".parse().unwrap()]));
}

const KINDS: [RecordType; 3] = [RecordType::Https, RecordType::Aaaa, RecordType::A];

#[tokio::test]
async fn name_without_records_and_name_that_does_not_exist_are_empty() {
    for nothing in [Reply::Nothing, Reply::Code(ResponseCode::NXDomain)] {
        for kind in KINDS {
            assert_eq!(answer(nothing.clone(), kind).await.unwrap(), kind.none());
        }
    }
}

#[tokio::test]
async fn failure_of_the_server_is_an_error() {
    for code in [ResponseCode::ServFail, ResponseCode::Refused] {
        for kind in KINDS {
            answer(Reply::Code(code), kind).await.unwrap_err();
        }
    }
}

#[tokio::test]
async fn malformed_record_is_an_error() {
    // A key without the length of its value.
    let malformed = RData::Unknown {
        code: Type::HTTPS,
        rdata: NULL::with(vec![0, 1, 0, 0, 1]),
    };
    let reply = Reply::Records(vec![malformed]);
    answer(reply, RecordType::Https).await.unwrap_err();
}

#[tokio::test]
async fn search_domains_apply_to_relative_names_only() {
    for (is_absolute, names) in [
        (true, vec!["a.test."]),
        (false, vec!["a.test.", "a.test.search.example."]),
    ] {
        let dns = Dns::of(&["search.example."], |_, _| Reply::Nothing).await;
        let answer = lookup(&dns, "a.test", RecordType::Https, is_absolute).await;
        assert_eq!(answer.unwrap(), Records::Https(vec![]));
        assert_eq!(dns.names(), names);
    }
}

#[tokio::test]
async fn connector_connects_to_the_port_of_the_record() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listens = listener.local_addr().unwrap();
    let dns = Dns::of(&[], move |name, kind| match (name, kind) {
        ("host.example.", Type::HTTPS) => {
            Reply::Records(vec![https(1, "cdn.example.", [port(listens.port())])])
        }
        ("cdn.example.", Type::A) => Reply::Addresses(&["127.0.0.1"]),
        _ => Reply::Nothing,
    })
    .await;
    let discovery = Discovery::new(dns.resolver.clone()).network(Network::dual_stack());
    let connector = Connector::new(HappyEyeballs::new().deadline(PATIENCE)).resolver(discovery);
    let origin = Origin::https(HOST, 443);
    let connected = connector.connect_to(&origin).await.unwrap();
    assert_eq!(connected.address, listens);
    assert_eq!(connected.connection.peer_addr().unwrap(), listens);

    // Without TLS, nothing asks for HTTPS records.
    let error = connector.connect(HOST, listens.port()).await.unwrap_err();
    assert!(error.to_string().contains("has no addresses"), "{error}");
    let https = dns.asked().into_iter().filter(|it| *it == Type::HTTPS);
    assert_eq!(https.count(), 1);
}
