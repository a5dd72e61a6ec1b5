//! A name server on loopback, and `hickory_resolver` that asks it.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use race_connect::hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolverConfig},
    net::runtime::TokioRuntimeProvider,
    proto::{
        op::{Message, OpCode},
        rr::{
            Name, RData, Record, RecordType,
            rdata::{
                HTTPS, SVCB,
                svcb::{Alpn, IpHint, SvcParamKey, SvcParamValue},
            },
        },
    },
};
use tokio::{net::UdpSocket, time::sleep};

/// What a name server says, and how long after the question.
pub(crate) struct Reply {
    pub(crate) after: Duration,
    pub(crate) records: Vec<RData>,
}

impl Reply {
    /// These records, at once.
    pub(crate) fn now(records: Vec<RData>) -> Option<Self> {
        let after = Duration::ZERO;
        Some(Self { after, records })
    }
}

/// Starts a name server that replies to a name, without a dot at the end, and a type; `None` is no
/// reply. Returns a resolver that asks it.
pub(crate) async fn start(
    reply: impl Fn(&str, RecordType) -> Option<Reply> + Send + 'static,
) -> TokioResolver {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(serve(Arc::new(socket), reply));

    let mut connection = ConnectionConfig::udp();
    connection.port = address.port();
    let server = NameServerConfig::new(address.ip(), true, vec![connection]);
    let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
    let runtime = TokioRuntimeProvider::default();
    let resolver = TokioResolver::builder_with_config(config, runtime).build();
    resolver.unwrap()
}

async fn serve(socket: Arc<UdpSocket>, reply: impl Fn(&str, RecordType) -> Option<Reply>) {
    let mut datagram = [0; 1_024];
    while let Ok((length, peer)) = socket.recv_from(&mut datagram).await {
        let question = Message::from_vec(&datagram[..length]).unwrap();
        let query = &question.queries[0];
        let name = query.name().to_ascii().to_ascii_lowercase();
        if let Some(reply) = reply(name.trim_end_matches('.'), query.query_type()) {
            tokio::spawn(send(Arc::clone(&socket), peer, question, reply));
        }
    }
}

async fn send(socket: Arc<UdpSocket>, peer: SocketAddr, question: Message, reply: Reply) {
    sleep(reply.after).await;
    let mut message = Message::response(question.metadata.id, OpCode::Query);
    message.add_query(question.queries[0].clone());
    for data in reply.records {
        let name = question.queries[0].name().clone();
        message.add_answer(Record::from_rdata(name, 60, data));
    }
    let datagram = message.to_vec().unwrap();
    socket.send_to(&datagram, peer).await.unwrap();
}

/// An address record.
pub(crate) fn address(ip: &str) -> RData {
    match ip.parse().unwrap() {
        IpAddr::V4(v4) => RData::A(v4.into()),
        IpAddr::V6(v6) => RData::AAAA(v6.into()),
    }
}

/// `HTTPS 1 . alpn=h2 port=PORT`, with a hint of each family.
pub(crate) fn https(port: u16, hints: Option<(Ipv4Addr, Ipv6Addr)>) -> RData {
    let alpn = SvcParamValue::Alpn(Alpn(vec!["h2".to_owned()]));
    let mut params = vec![
        (SvcParamKey::Alpn, alpn),
        (SvcParamKey::Port, SvcParamValue::Port(port)),
    ];
    if let Some((v4, v6)) = hints {
        let v4 = SvcParamValue::Ipv4Hint(IpHint(vec![v4.into()]));
        let v6 = SvcParamValue::Ipv6Hint(IpHint(vec![v6.into()]));
        params.extend([(SvcParamKey::Ipv4Hint, v4), (SvcParamKey::Ipv6Hint, v6)]);
    }
    RData::HTTPS(HTTPS(SVCB::new(1, Name::root(), params)))
}
