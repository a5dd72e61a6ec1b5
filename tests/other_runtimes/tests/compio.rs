//! compio, on io_uring and on its poll driver.

use std::{io, net::SocketAddr};

use compio::{
    BufResult,
    driver::{DriverType, ProactorBuilder},
    io::AsyncRead as _,
    net::TcpStream,
    runtime::Runtime,
    time::sleep,
};
use race_other_runtimes::{answering_server_wins, bounded, suite, use_io_uring};

async fn read(address: SocketAddr) -> io::Result<u8> {
    let mut stream = TcpStream::connect(address).await?;
    let BufResult(read, buffer) = stream.read(vec![0]).await;
    read.map(|_| buffer[0])
}

fn runtime(driver: DriverType) -> io::Result<Runtime> {
    let mut proactor = ProactorBuilder::new();
    proactor.driver_type(driver);
    Runtime::builder().with_proactor(proactor).build()
}

fn runs(name: &'static str, driver: DriverType) {
    let runtime = runtime(driver).expect("the driver is supported");
    runtime.block_on(suite(name, sleep));
    runtime.block_on(async {
        let task = compio::runtime::spawn(suite(name, sleep));
        let io = compio::runtime::spawn(answering_server_wins(read)).await;
        io.expect("the task does not panic");
        task.await.expect("the task does not panic");
    });
}

#[test]
fn runs_on_the_poll_driver_of_compio() {
    bounded(|| runs("compio, poll", DriverType::Poll));
}

#[test]
fn runs_on_the_io_uring_driver_of_compio() {
    if use_io_uring(runtime(DriverType::IoUring).is_ok()) {
        bounded(|| runs("compio, io_uring", DriverType::IoUring));
    }
}
