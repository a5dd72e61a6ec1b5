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
        rr::{RData, Record, RecordType},
    },
};
use tokio::{net::UdpSocket, time::sleep};

/// How a server replies to the questions of a type.
#[derive(Clone)]
pub(crate) enum Reply {
    Addresses(&'static [&'static str]),
    /// The name has no such records.
    Nothing,
    Code(ResponseCode),
    /// This reply, so long after the question.
    Late(Duration, &'static [&'static str]),
    Never,
}

/// A name server on loopback, and the types of the questions that it was asked.
pub(crate) struct Dns {
    pub(crate) resolver: TokioResolver,
    asked: Arc<Mutex<Vec<RecordType>>>,
}

impl Dns {
    /// Starts a server that replies to questions for AAAA and for A.
    pub(crate) async fn start(v6: Reply, v4: Reply) -> Self {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = socket.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(serve(socket, v6, v4, Arc::clone(&asked)));

        let mut connection = ConnectionConfig::udp();
        connection.port = address.port();
        let server = NameServerConfig::new(address.ip(), true, vec![connection]);
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        let runtime = TokioRuntimeProvider::default();
        let resolver = TokioResolver::builder_with_config(config, runtime).build();
        let resolver = resolver.unwrap();
        Self { resolver, asked }
    }

    pub(crate) fn asked(&self) -> Vec<RecordType> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(socket: Arc<UdpSocket>, v6: Reply, v4: Reply, asked: Arc<Mutex<Vec<RecordType>>>) {
    let mut datagram = [0; 1_024];
    while let Ok((length, peer)) = socket.recv_from(&mut datagram).await {
        let question = Message::from_vec(&datagram[..length]).unwrap();
        let kind = question.queries[0].query_type();
        asked.lock().unwrap().push(kind);
        let reply = match kind {
            RecordType::AAAA => v6.clone(),
            _ => v4.clone(),
        };
        let socket = Arc::clone(&socket);
        tokio::spawn(async move { send(&socket, peer, &question, reply).await });
    }
}

async fn send(socket: &UdpSocket, peer: SocketAddr, question: &Message, reply: Reply) {
    let mut message = Message::response(question.metadata.id, OpCode::Query);
    message.add_query(question.queries[0].clone());
    let addresses = match reply {
        Reply::Never => return,
        Reply::Nothing => &[][..],
        Reply::Code(code) => {
            message.metadata.response_code = code;
            &[]
        }
        Reply::Addresses(addresses) => addresses,
        Reply::Late(delay, addresses) => {
            sleep(delay).await;
            addresses
        }
    };
    for address in addresses {
        let data = match address.parse().unwrap() {
            IpAddr::V4(v4) => RData::A(v4.into()),
            IpAddr::V6(v6) => RData::AAAA(v6.into()),
        };
        let name = question.queries[0].name().clone();
        message.add_answer(Record::from_rdata(name, 60, data));
    }
    socket
        .send_to(&message.to_vec().unwrap(), peer)
        .await
        .unwrap();
}
