//! Processes of etcd.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{PATIENCE, http, loopback, process};

/// The processes of an etcd cluster on this machine. They are killed when it is dropped.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<Member>,
}

/// One member of an etcd cluster.
#[derive(Debug)]
struct Member {
    command: Command,
    child: Child,
    address: SocketAddr,
    url: String,
    log: PathBuf,
}

impl Member {
    /// Waits until it accepts connections. Returns `false` if it has ended.
    fn listens(&mut self) -> bool {
        let started = Instant::now();
        loop {
            let is_connected = TcpStream::connect(self.address).is_ok();
            // On other systems than Linux, another process may have accepted the connection.
            let ended = self.child.try_wait().expect("it is a child");
            if ended.is_some() || is_connected {
                return ended.is_none();
            }
            let is_late = started.elapsed() > PATIENCE;
            assert!(!is_late, "etcd does not listen: {}", self.output());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it has written to its log.
    fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// etcd, without the variables that configure it: it refuses one that says the same as an argument.
fn command() -> Command {
    let mut command = Command::new("etcd");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ETCD_") {
            command.env_remove(name);
        }
    }
    // etcd 3.4 does not run on other processors than those on which it is tested, not even for
    // `--version`.
    if cfg!(target_arch = "aarch64") {
        command.env("ETCD_UNSUPPORTED_ARCH", "arm64");
    }
    command
}

fn spawn(command: &mut Command) -> Child {
    command.spawn().unwrap_or_else(|error| {
        panic!("etcd does not start ({error}): install Debian's package etcd-server")
    })
}

/// Reads the metrics of a member, which may have stopped.
fn metrics(address: SocketAddr) -> io::Result<String> {
    let patience = Duration::from_secs(1);
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// Makes it an error that etcd is not installed.
const REQUIRE: &str = "HYPER_DELAY_REQUIRE_ETCD";

impl Etcd {
    /// Whether `etcd` is installed. Prints a note if it is not.
    ///
    /// # Panics
    ///
    /// If it is not, and `HYPER_DELAY_REQUIRE_ETCD` is set.
    #[must_use]
    pub fn is_installed() -> bool {
        let mut version = command();
        version.arg("--version").stdout(Stdio::null());
        let is_there = version.status().is_ok_and(|status| status.success());
        if !is_there {
            assert!(
                std::env::var_os(REQUIRE).is_none(),
                "{REQUIRE} is set, and etcd does not run: install Debian's package etcd-server"
            );
            println!("NOTE: nothing is proved here: etcd is not installed");
        }
        is_there
    }

    /// Starts a cluster whose files are in `folder`, with further arguments. Clients use `scheme`.
    #[must_use]
    #[track_caller]
    pub fn start(folder: &Path, members: usize, arguments: &[&str], scheme: &str) -> Self {
        let mut log = String::new();
        // On other systems than Linux, another process can take an address before etcd does.
        for attempt in 0..5 {
            let folder = folder.join(format!("etcd-{attempt}"));
            let addresses: Vec<_> = (0..members).map(|_| loopback()).collect();
            match Self::try_start(&folder, &addresses, arguments, scheme) {
                Ok(etcd) => return etcd,
                Err(error) => log = error,
            }
        }
        panic!("etcd does not start, at five sets of addresses: {log}");
    }

    /// Starts a cluster like [`start`](Self::start), with a member at each of these addresses,
    /// which come from [`loopback()`]: a certificate can name them before.
    #[must_use]
    #[track_caller]
    pub fn start_at(
        folder: &Path,
        addresses: &[SocketAddr],
        arguments: &[&str],
        scheme: &str,
    ) -> Self {
        match Self::try_start(&folder.join("etcd"), addresses, arguments, scheme) {
            Ok(etcd) => etcd,
            Err(log) => panic!("etcd does not start: {log}"),
        }
    }

    /// Starts a cluster, and waits until all members accept connections.
    ///
    /// # Errors
    ///
    /// The logs, if a member has ended.
    fn try_start(
        folder: &Path,
        addresses: &[SocketAddr],
        arguments: &[&str],
        scheme: &str,
    ) -> Result<Self, String> {
        fs::create_dir_all(folder).expect("the folder is writable");
        let peers: Vec<_> = addresses
            .iter()
            .map(|_| format!("http://{}", loopback()))
            .collect();
        let all: Vec<_> = (0..)
            .zip(&peers)
            .map(|(number, peer)| format!("{number}={peer}"))
            .collect();
        let member = |(number, address): (usize, &SocketAddr)| {
            let url = format!("{scheme}://{address}");
            let peer = &peers[number];
            let log = folder.join(format!("{number}.log"));
            let mut command = command();
            command
                .args(["--name", &number.to_string(), "--logger", "zap"])
                .args(["--listen-client-urls", &url])
                .args(["--advertise-client-urls", &url])
                .args(["--listen-peer-urls", peer])
                .args(["--initial-advertise-peer-urls", peer])
                .args(["--initial-cluster", &all.join(",")])
                .args(["--snapshot-count", "5000", "--pre-vote"])
                .args(["--auto-compaction-mode", "revision"])
                .args(["--auto-compaction-retention", "1000"])
                .args(arguments)
                .arg("--data-dir")
                .arg(folder.join(number.to_string()))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(File::create(&log).expect("the folder is writable"));
            Member {
                child: spawn(&mut command),
                command,
                address: *address,
                url,
                log,
            }
        };
        let mut etcd = Self {
            members: addresses.iter().enumerate().map(member).collect(),
        };
        match etcd.members.iter_mut().all(Member::listens) {
            true => Ok(etcd),
            false => Err(etcd.output()),
        }
    }

    /// Requires users from now on, and creates one that has rights below `/hd/`.
    pub fn require_users(&self, name: &str, password: &str) {
        // Base64 of `/hd/`, and of `/hd0`, the first key after those below it.
        let rights = r#"{"permType":"READWRITE","key":"L2hkLw==","range_end":"L2hkMA=="}"#;
        for (path, body) in [
            ("user/add", r#"{"name":"root","password":"root"}"#.into()),
            ("role/add", r#"{"name":"root"}"#.into()),
            ("user/grant", r#"{"user":"root","role":"root"}"#.into()),
            (
                "user/add",
                format!(r#"{{"name":{name:?},"password":{password:?}}}"#),
            ),
            ("role/add", r#"{"name":"hd"}"#.into()),
            ("role/grant", format!(r#"{{"name":"hd","perm":{rights}}}"#)),
            ("user/grant", format!(r#"{{"user":{name:?},"role":"hd"}}"#)),
            ("enable", "{}".into()),
        ] {
            let answer = http::post(self.members[0].address, &format!("/v3/auth/{path}"), &body);
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        }
    }

    /// The URLs for clients.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        let members = self.members.iter();
        members.map(|member| member.url.clone()).collect()
    }

    /// The addresses for clients.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let members = self.members.iter();
        members.map(|member| member.address).collect()
    }

    /// The process ids of the members.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.members.iter().map(|it| it.child.id()).collect()
    }

    /// What the members have written to their logs.
    #[must_use]
    pub fn output(&self) -> String {
        self.members.iter().map(Member::output).collect()
    }

    /// Returns the member that leads, if one answers that it does. Not for members with TLS.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        let mut members = self.members.iter();
        members.position(|member| {
            let metrics = metrics(member.address).unwrap_or_default();
            metrics.contains("\netcd_server_is_leader 1\n")
        })
    }

    /// Sends a signal to a member by name, for example `"STOP"`. See [`process::signal`].
    #[track_caller]
    pub fn signal(&self, member: usize, name: &str) {
        process::signal(&self.members[member].child, name);
    }

    /// Kills a member.
    pub fn kill(&mut self, member: usize) {
        let child = &mut self.members[member].child;
        child.kill().expect("it is a child");
        child.wait().expect("it is a child");
    }

    /// Starts a member again that was killed, and waits until it accepts connections.
    pub fn restart(&mut self, member: usize) {
        let member = &mut self.members[member];
        member.child = spawn(&mut member.command);
        assert!(member.listens(), "etcd has ended: {}", member.output());
    }
}
