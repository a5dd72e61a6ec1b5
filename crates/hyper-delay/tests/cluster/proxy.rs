//! A proxy that can hold back or cut what goes through it.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    thread,
    time::Duration,
};

/// What happens to the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Passes {
    All,
    /// They wait until all pass again.
    Later,
    /// Connections are cut, and new ones are refused.
    Nothing,
}

/// A proxy in front of an address. Its threads end with the process.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    passes: Arc<AtomicU8>,
}

impl Proxy {
    pub(crate) fn new(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let proxy = Self {
            address: listener.local_addr().expect("it is bound"),
            passes: Arc::new(AtomicU8::new(Passes::All as u8)),
        };
        let passes = proxy.passes.clone();
        thread::spawn(move || {
            for from in listener.incoming().flatten() {
                if passes.load(Ordering::Relaxed) == Passes::Nothing as u8 {
                    continue;
                }
                let Ok(to) = TcpStream::connect(to) else {
                    continue;
                };
                for (from, to) in [(&from, &to), (&to, &from)] {
                    let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else {
                        continue;
                    };
                    let passes = passes.clone();
                    thread::spawn(move || pass(&from, &to, &passes));
                }
            }
        });
        proxy
    }

    pub(crate) fn set(&self, passes: Passes) {
        self.passes.store(passes as u8, Ordering::Relaxed);
    }
}

fn pass(mut from: &TcpStream, mut to: &TcpStream, passes: &AtomicU8) {
    let _ = from.set_nodelay(true);
    let _ = from.set_read_timeout(Some(Duration::from_millis(50)));
    let mut bytes = [0; 16 << 10];
    loop {
        let read = from.read(&mut bytes);
        while passes.load(Ordering::Relaxed) == Passes::Later as u8 {
            thread::sleep(Duration::from_millis(5));
        }
        let is_cut = passes.load(Ordering::Relaxed) == Passes::Nothing as u8;
        match read {
            _ if is_cut => break,
            Ok(0) => break,
            Ok(length) if to.write_all(&bytes[..length]).is_ok() => {}
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {}
            Ok(_) | Err(_) => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
