use std::{
    env, fs,
    process::{Command, Stdio},
};

/// A host with an address of each family. IPv6 comes first by RFC 6724.
pub(crate) const HOST: &str = "dual.test";
pub(crate) const V6: &str = "2001:db8::6";
pub(crate) const V4: &str = "192.0.2.4";

/// Names the test that runs in a namespace.
const INSIDE: &str = "RACE_NAMESPACE";

const REQUIRE: &str = "RACE_REQUIRE_NAMESPACES";

/// `drop v6` drops what comes to an address. `lose v6` drops its first packet; that of a connection
/// has at most 100 bytes.
const SETUP: &str = r#"
ip link set lo up
ip addr add 192.0.2.4/32 dev lo
ip -6 addr add 2001:db8::6/128 dev lo nodad
nft add table inet test
nft add chain inet test input '{ type filter hook input priority 0; }'
to() { case "$1" in v6) echo ip6 daddr 2001:db8::6 ;; v4) echo ip daddr 192.0.2.4 ;; esac; }
drop() { nft add rule inet test input $(to "$1") drop; }
lose() { nft add rule inet test input $(to "$1") tcp flags syn quota until 100 bytes drop; }
mount --bind "$HOSTS" /etc/hosts
"#;

/// Runs the body of a test in a network namespace of its own.
pub(crate) fn within(test: &str, network: &str, body: fn()) {
    if env::var(INSIDE).is_ok_and(|inside| inside == test) {
        return body();
    }
    let directory = env::temp_dir().join(format!("race-{test}-{}", std::process::id()));
    fs::create_dir(&directory).unwrap();
    let hosts = directory.join("hosts");
    fs::write(
        &hosts,
        format!("{V6} {HOST}\n{V4} {HOST}\n127.0.0.1 localhost\n"),
    )
    .unwrap();
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "--mount", "sh", "-ec"]);
        command.arg(script).arg(env::current_exe().unwrap());
        command.env("HOSTS", &hosts).stdin(Stdio::null());
        command
    };
    let possible = unshare(SETUP).output();
    let ended = match possible {
        Ok(output) if output.status.success() => {
            let script = format!("{SETUP}\n{network}\nexec \"$0\" --exact {test} --nocapture");
            unshare(&script).env(INSIDE, test).status().unwrap()
        }
        failed => {
            assert!(
                env::var_os(REQUIRE).is_none(),
                "{REQUIRE} is set: {failed:?}"
            );
            println!("skipped: no network namespace can be made here: {failed:?}");
            fs::remove_dir_all(&directory).unwrap();
            return;
        }
    };
    fs::remove_dir_all(&directory).unwrap();
    assert!(ended.success(), "{test} in its namespace: {ended}");
}
