//! Reads the field `cluster`.

use std::net::SocketAddr;

use http::Uri;
use serde_json::Value;

use super::{Cluster, EtcdTlsFiles, EtcdUser, NodeTlsFiles, advertise::AdvertiseAddress};
use crate::json_object::{NestedObject, file, number};

/// The names of the fields.
const KNOWN: [&str; 8] = [
    "etcd",
    "node",
    "advertise",
    "bind_addr",
    "lease_ms",
    "tls",
    "etcd_tls",
    "etcd_user",
];

/// The default length of the lease.
const LEASE_MS: u64 = 2_000;

/// Reads the field. The error is the cure.
pub(crate) fn parse(value: &Value) -> Result<Cluster, String> {
    let wanted = format!(
        "give an object with etcd, node and advertise, such as {{\"etcd\": \
         [\"http://10.0.0.1:2379\"], \"node\": \"a\", \"advertise\": \"10.0.0.1:7002\"}}, and maybe {}",
        KNOWN[3..].join(", ")
    );
    let part = NestedObject::read(value, &KNOWN, &wanted)?;
    let advertise = part.require("advertise", advertise)?;
    let default = AdvertiseAddress::parse(&advertise)
        .expect("it was read")
        .bind_addr();
    let cluster = Cluster {
        etcd: part.require("etcd", endpoints)?,
        node: part.require("node", node)?,
        bind_addr: part.take("bind_addr", bind_addr)?.unwrap_or(default),
        advertise,
        lease_ms: part
            .take("lease_ms", |value| {
                number(value, "milliseconds", 500..=60_000)
            })?
            .unwrap_or(LEASE_MS),
        tls: part.take("tls", node_tls)?,
        etcd_tls: part.take("etcd_tls", etcd_tls)?,
        etcd_user: part.take("etcd_user", etcd_user)?,
    };
    let plain = cluster.etcd.iter().find(|url| !is_https(url));
    match (plain, &cluster.etcd_tls) {
        (Some(url), Some(_)) => Err(format!(
            "etcd_tls is set in it, and {url:?} does not use TLS: begin the URL with https://"
        )),
        _ => Ok(cluster),
    }
}

fn endpoints(value: &Value) -> Result<Vec<String>, String> {
    const WANTED: &str = "give a list of the URLs of etcd's members, such as \
        [\"http://10.0.0.1:2379\"]";
    let list = value.as_array().filter(|list| !list.is_empty());
    let urls: Vec<String> = list
        .ok_or(WANTED)?
        .iter()
        .map(endpoint)
        .collect::<Result<_, _>>()?;
    let is_repeated = |(at, url): &(usize, &String)| {
        let mut before = urls[..*at].iter();
        before.any(|before| without_slash(before) == without_slash(url))
    };
    match urls.iter().enumerate().find(is_repeated) {
        None => Ok(urls),
        Some((_, url)) => Err(format!("{url:?} is given twice in it: give it once")),
    }
}

/// Returns a URL as it is without the path `/`, which means the same.
fn without_slash(url: &str) -> &str {
    url.strip_suffix('/').unwrap_or(url)
}

fn endpoint(entry: &Value) -> Result<String, String> {
    let url = entry.as_str().ok_or(URL);
    url.and_then(|url| check_url(url).map(|()| url.to_owned()))
        .map_err(|cure| format!("{entry} in it: {cure}"))
}

/// The cure of what is no URL.
const URL: &str = "give a URL such as \"http://10.0.0.1:2379\"";

/// Checks that this is a URL of the scheme `http` or `https` with a host and a port, and no path.
/// The error is the cure.
fn check_url(url: &str) -> Result<(), &'static str> {
    let uri: Uri = url.parse().map_err(|_| URL)?;
    let authority = uri.authority().ok_or(URL)?;
    if authority.as_str().contains('@') {
        return Err("name the user in etcd_user, and give the URL without one");
    }
    let is_url = matches!(uri.scheme_str(), Some("http" | "https"))
        && !authority.host().is_empty()
        && matches!(uri.path(), "" | "/")
        && uri.query().is_none();
    let port = authority.port_u16().filter(|port| *port != 0);
    match (is_url, port) {
        (false, _) => Err(URL),
        (true, None) => Err("give its port, too, 1 to 65535: that of etcd is 2379"),
        (true, Some(_)) => Ok(()),
    }
}

fn is_https(url: &str) -> bool {
    let scheme = url.split("://").next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("https")
}

fn node(value: &Value) -> Result<String, String> {
    let is_name = |name: &&str| {
        (1..=64).contains(&name.len())
            && !name.starts_with('-')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
    };
    let name = value.as_str().filter(is_name);
    name.map(str::to_owned).ok_or_else(|| {
        "give a name of 1 to 64 letters, digits, \".\", \"-\" and \"_\", which does not begin with \
             \"-\""
            .to_owned()
    })
}

fn advertise(value: &Value) -> Result<String, String> {
    let text = value.as_str();
    text.filter(|text| AdvertiseAddress::parse(text).is_some())
        .map(str::to_owned)
        .ok_or_else(|| {
            "give the host and the port under which other nodes reach this one, such as \
             \"a.internal:7002\" or \"10.0.0.1:7002\""
                .to_owned()
        })
}

fn bind_addr(value: &Value) -> Result<SocketAddr, String> {
    let address = value.as_str().and_then(|text| text.parse().ok());
    address
        .filter(|address: &SocketAddr| address.port() != 0)
        .ok_or_else(|| {
            "give an address and a port that is not 0, such as \"0.0.0.0:7002\" (names are not \
             looked up), or leave it out"
                .to_owned()
        })
}

fn node_tls(value: &Value) -> Result<NodeTlsFiles, String> {
    const WANTED: &str = "give {\"cert\": FILE, \"key\": FILE, \"ca\": FILE}";
    let part = NestedObject::read(value, &["cert", "key", "ca"], WANTED)?;
    Ok(NodeTlsFiles {
        cert: part.require("cert", file)?,
        key: part.require("key", file)?,
        ca: part.require("ca", file)?,
    })
}

fn etcd_tls(value: &Value) -> Result<EtcdTlsFiles, String> {
    const WANTED: &str =
        "give {\"ca\": FILE}, or {\"cert\": FILE, \"key\": FILE}, or all three, or leave it out";
    let part = NestedObject::read(value, &["ca", "cert", "key"], WANTED)?;
    let files = EtcdTlsFiles {
        ca: part.take("ca", file)?,
        cert: part.take("cert", file)?,
        key: part.take("key", file)?,
    };
    match (&files.ca, &files.cert, &files.key) {
        (None, None, None) => Err(format!("it has no file: {WANTED}")),
        (_, None, Some(_)) => Err(format!("cert is missing in it: {WANTED}")),
        (_, Some(_), None) => Err(format!("key is missing in it: {WANTED}")),
        _ => Ok(files),
    }
}

fn etcd_user(value: &Value) -> Result<EtcdUser, String> {
    const WANTED: &str = "give {\"name\": NAME, \"password_file\": FILE}";
    let part = NestedObject::read(value, &["name", "password_file"], WANTED)?;
    let name = |value: &Value| {
        let name = value.as_str().filter(|name| !name.is_empty());
        name.map(str::to_owned)
            .ok_or("give the name of a user of etcd".to_owned())
    };
    Ok(EtcdUser {
        name: part.require("name", name)?,
        password_file: part.require("password_file", file)?,
    })
}

#[cfg(test)]
mod tests;
