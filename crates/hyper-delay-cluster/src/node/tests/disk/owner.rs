//! A data directory belongs to one node, or to one server without a cluster.

use super::{CHARTER, Disk, Embedded, NodeDirectory};

#[test]
fn two_nodes_cannot_share_a_data_directory() {
    let disk = Disk::new();
    let (directory, replica) = disk.open();
    let error = NodeDirectory::lock(disk.root(), CHARTER.shards).unwrap_err();
    assert!(
        error.to_string().contains("another process uses it"),
        "{error}"
    );
    let clone = directory.clone();
    drop((directory, replica));
    NodeDirectory::lock(disk.root(), CHARTER.shards).unwrap_err();
    drop(clone);
    disk.open();
}

#[test]
fn a_node_refuses_the_store_of_a_single_node() {
    for left in ["store", "commits"] {
        let disk = Disk::new();
        drop(Embedded::open(disk.root()).unwrap());
        match left {
            "store" => std::fs::remove_file(disk.root().join("commits")).unwrap(),
            _ => std::fs::remove_dir_all(disk.root().join("store")).unwrap(),
        }
        let error = NodeDirectory::lock(disk.root(), CHARTER.shards).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("`hyper-delay cluster import`"), "{error}");
        assert!(!disk.root().join("shards").exists());
    }
}

#[test]
fn a_single_node_refuses_the_stores_of_a_node() {
    let disk = Disk::new();
    let opened = disk.open();
    let error = Embedded::open(disk.root()).unwrap_err().to_string();
    assert!(error.contains("another process uses it"), "{error}");
    drop(opened);
    let error = Embedded::open(disk.root()).unwrap_err().to_string();
    assert!(error.contains("is that of a node of a cluster"), "{error}");
    assert!(!disk.root().join("store").exists());
}
