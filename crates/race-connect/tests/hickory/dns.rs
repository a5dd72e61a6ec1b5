use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use race_connect::hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolverConfig},
    net::runtime::TokioRuntimeProvider,
    proto::{
        op::{Message, OpCode, ResponseCode},
        rr::{Name, RData, Record, RecordType, rdata::CNAME},
    },
};
use tokio::{net::UdpSocket, time::sleep};

/// How a server replies to the questions of a type.
#[derive(Clone)]
pub(crate) enum Reply {
    Addresses(&'static [&'static str]),
    /// Records of the name.
    Records(Vec<RData>),
    /// An alias (CNAME), and the records of its target.
    Alias(Name, Vec<RData>),
    /// The name has no such records.
    Nothing,
    Code(ResponseCode),
    /// This reply, so long after the question.
    Late(Duration, &'static [&'static str]),
    Never,
}

type Replies = Arc<dyn Fn(&str, RecordType) -> Reply + Send + Sync>;

/// A name server on loopback, and the questions that it was asked.
pub(crate) struct Dns {
    pub(crate) resolver: TokioResolver,
    asked: Arc<Mutex<Vec<(String, RecordType)>>>,
}

impl Dns {
    /// Starts a server that replies to questions for AAAA and for A.
    pub(crate) async fn start(v6: Reply, v4: Reply) -> Self {
        Self::of(&[], move |_, kind| match kind {
            RecordType::AAAA => v6.clone(),
            _ => v4.clone(),
        })
        .await
    }

    /// Starts a server that replies to each name and type, for a resolver with search domains.
    pub(crate) async fn of(
        search: &[&str],
        replies: impl Fn(&str, RecordType) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = socket.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(serve(socket, Arc::new(replies), Arc::clone(&asked)));

        let mut connection = ConnectionConfig::udp();
        connection.port = address.port();
        let server = NameServerConfig::new(address.ip(), true, vec![connection]);
        let search = search.iter().map(|it| it.parse().unwrap()).collect();
        let config = ResolverConfig::from_parts(None, search, vec![server]);
        let runtime = TokioRuntimeProvider::default();
        let resolver = TokioResolver::builder_with_config(config, runtime).build();
        let resolver = resolver.unwrap();
        Self { resolver, asked }
    }

    /// The types of the questions.
    pub(crate) fn asked(&self) -> Vec<RecordType> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(_, kind)| *kind).collect()
    }

    /// The names of the questions.
    pub(crate) fn names(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(name, _)| name.clone()).collect()
    }
}

async fn serve(
    socket: Arc<UdpSocket>,
    replies: Replies,
    asked: Arc<Mutex<Vec<(String, RecordType)>>>,
) {
    let mut datagram = [0; 1_024];
    while let Ok((length, peer)) = socket.recv_from(&mut datagram).await {
        let question = Message::from_vec(&datagram[..length]).unwrap();
        let kind = question.queries[0].query_type();
        let name = question.queries[0].name().to_ascii();
        let reply = replies(&name, kind);
        asked.lock().unwrap().push((name, kind));
        let socket = Arc::clone(&socket);
        tokio::spawn(async move { send(&socket, peer, &question, reply).await });
    }
}

async fn send(socket: &UdpSocket, peer: SocketAddr, question: &Message, reply: Reply) {
    let mut message = Message::response(question.metadata.id, OpCode::Query);
    message.add_query(question.queries[0].clone());
    let mut owner = question.queries[0].name().clone();
    let data = match reply {
        Reply::Never => return,
        Reply::Nothing => Vec::new(),
        Reply::Code(code) => {
            message.metadata.response_code = code;
            Vec::new()
        }
        Reply::Records(data) => data,
        Reply::Alias(target, data) => {
            let alias = RData::CNAME(CNAME(target.clone()));
            message.add_answer(Record::from_rdata(owner, 60, alias));
            owner = target;
            data
        }
        Reply::Addresses(addresses) => rdata(addresses),
        Reply::Late(delay, addresses) => {
            sleep(delay).await;
            rdata(addresses)
        }
    };
    for data in data {
        message.add_answer(Record::from_rdata(owner.clone(), 60, data));
    }
    socket
        .send_to(&message.to_vec().unwrap(), peer)
        .await
        .unwrap();
}

fn rdata(addresses: &[&str]) -> Vec<RData> {
    let addresses = addresses.iter().map(|address| address.parse().unwrap());
    addresses
        .map(|address| match address {
            IpAddr::V4(v4) => RData::A(v4.into()),
            IpAddr::V6(v6) => RData::AAAA(v6.into()),
        })
        .collect()
}
