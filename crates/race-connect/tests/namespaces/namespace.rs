use std::{
    env, fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

/// A host with an address of each family. IPv6 comes first by RFC 6724.
pub(crate) const HOST: &str = "dual.test";
pub(crate) const V6: &str = "2001:db8::6";
pub(crate) const V4: &str = "192.0.2.4";

/// A host with two IPv6 addresses and one IPv4 address.
#[allow(dead_code, reason = "the benchmark uses it, the tests do not")]
pub(crate) const HOST_WITH_TWO_V6: &str = "two.test";
pub(crate) const SECOND_V6: &str = "2001:db8::7";

/// A host with two addresses of each family. The first one of each is [`V6`] or [`V4`].
#[allow(dead_code, reason = "the tests use it, the benchmark does not")]
pub(crate) const HOST_WITH_FOUR: &str = "four.test";
#[allow(dead_code, reason = "the tests use it, the benchmark does not")]
pub(crate) const ADDRESSES_OF_FOUR: [&str; 4] = [V6, SECOND_V6, V4, SECOND_V4];
const SECOND_V4: &str = "192.0.2.5";

/// A host with one IPv4 address, [`V4`].
#[allow(dead_code, reason = "the tests use it, the benchmark does not")]
pub(crate) const HOST_WITH_V4: &str = "v4.test";

/// Names the test that runs in a namespace.
const INSIDE: &str = "RACE_NAMESPACE";

const REQUIRE: &str = "RACE_REQUIRE_NAMESPACES";

/// `drop v6` drops what comes to an address, `drop_udp v6` what comes over UDP. `lose v6` drops its
/// first packet; that of a connection has at most 100 bytes. `route v6` adds a default route.
/// `no_v4` removes the addresses of IPv4 but those of loopback.
const SETUP: &str = r#"
ip link set lo up
ip addr add 192.0.2.4/32 dev lo
ip addr add 192.0.2.5/32 dev lo
ip -6 addr add 2001:db8::6/128 dev lo nodad
ip -6 addr add 2001:db8::7/128 dev lo nodad
nft add table inet test
nft add chain inet test input '{ type filter hook input priority 0; }'
to() { case "$1" in v6) echo ip6 daddr 2001:db8::6 ;; v4) echo ip daddr 192.0.2.4 ;; esac; }
drop() { nft add rule inet test input $(to "$1") drop; }
drop_udp() { nft add rule inet test input $(to "$1") meta l4proto udp drop; }
lose() { nft add rule inet test input $(to "$1") tcp flags syn quota until 100 bytes drop; }
route() {
    case "$1" in
        v6) ip -6 route add default dev lo src 2001:db8::6 ;;
        v4) ip route add default dev lo src 192.0.2.4 ;;
    esac
}
no_v4() { ip addr del 192.0.2.4/32 dev lo; ip addr del 192.0.2.5/32 dev lo; }
mount --bind "$HOSTS" /etc/hosts
"#;

/// Runs the body of a test in a network namespace of its own.
#[allow(dead_code, reason = "the tests use it, the benchmark does not")]
pub(crate) fn within(test: &str, network: &str, body: fn()) {
    if env::var(INSIDE).is_ok_and(|inside| inside == test) {
        return body();
    }
    let hosts = Hosts::write(test);
    if let Err(failed) = is_possible(&hosts) {
        assert!(
            env::var_os(REQUIRE).is_none(),
            "{REQUIRE} is set: {failed:?}"
        );
        println!("skipped: no network namespace can be made here: {failed:?}");
        return;
    }
    let mut again = this_program(&hosts, network, &["--exact", test, "--nocapture"]);
    let ended = again.env(INSIDE, test).status();
    let ended = ended.expect("`unshare` started before");
    assert!(ended.success(), "{test} in its namespace: {ended}");
}

/// Whether a namespace can be made.
pub(crate) fn is_possible(hosts: &Hosts) -> Result<(), std::io::Result<Output>> {
    match unshare(hosts, SETUP).output() {
        Ok(output) if output.status.success() => Ok(()),
        failed => Err(failed),
    }
}

/// This program with these arguments in a network namespace of its own, in which the commands
/// `network` have run.
pub(crate) fn this_program(hosts: &Hosts, network: &str, arguments: &[&str]) -> Command {
    let script = format!("{SETUP}\n{network}\nexec \"$0\" \"$@\"");
    let mut command = unshare(hosts, &script);
    command.args(arguments);
    command
}

fn unshare(hosts: &Hosts, script: &str) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--net", "--mount", "sh", "-ec"])
        .arg(script)
        .arg(env::current_exe().expect("this program has a path"))
        .env("HOSTS", hosts.file())
        .stdin(Stdio::null());
    command
}

/// A file that resolves the hosts. Removed when dropped.
pub(crate) struct Hosts {
    directory: PathBuf,
}

impl Hosts {
    pub(crate) fn write(name: &str) -> Self {
        let directory = env::temp_dir().join(format!("race-{name}-{}", std::process::id()));
        fs::create_dir(&directory).expect("the temporary folder is writable");
        let hosts = Self { directory };
        let lines = format!(
            "{V6} {HOST} {HOST_WITH_TWO_V6} {HOST_WITH_FOUR}\n\
             {SECOND_V6} {HOST_WITH_TWO_V6} {HOST_WITH_FOUR}\n\
             {V4} {HOST} {HOST_WITH_TWO_V6} {HOST_WITH_FOUR} {HOST_WITH_V4}\n{SECOND_V4} {HOST_WITH_FOUR}\n\
             127.0.0.1 localhost\n"
        );
        fs::write(hosts.file(), lines).expect("the temporary folder is writable");
        hosts
    }

    fn file(&self) -> PathBuf {
        self.directory.join("hosts")
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
