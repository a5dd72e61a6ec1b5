//! glommio, which has io_uring only.

use std::{io, net::SocketAddr};

use futures_lite::AsyncReadExt as _;
use glommio::{LocalExecutorBuilder, Placement, net::TcpStream, timer::sleep};
use race_other_runtimes::{answering_server_wins, bounded, suite, use_io_uring};

async fn read(address: SocketAddr) -> io::Result<u8> {
    let mut stream = TcpStream::connect(address).await?;
    let mut buffer = [0];
    stream.read_exact(&mut buffer).await?;
    Ok(buffer[0])
}

fn executor() -> LocalExecutorBuilder {
    LocalExecutorBuilder::new(Placement::Unbound)
}

#[test]
fn runs_on_glommio() {
    if !use_io_uring(executor().make().is_ok()) {
        return;
    }
    bounded(|| {
        let executor = executor().make().expect("it was made before");
        executor.run(suite("glommio", sleep));
        executor.run(async {
            let task = glommio::spawn_local(suite("glommio", sleep));
            glommio::spawn_local(answering_server_wins(read)).await;
            task.await;
        });
    });
}

/// Each of the two threads has an executor, as glommio's programs do.
#[test]
fn runs_on_two_executors_of_glommio_at_once() {
    if !use_io_uring(executor().make().is_ok()) {
        return;
    }
    bounded(|| {
        let threads = [(); 2].map(|()| {
            executor()
                .spawn(|| suite("glommio", sleep))
                .expect("it was made before")
        });
        for thread in threads {
            thread.join().expect("the executor does not panic");
        }
    });
}
