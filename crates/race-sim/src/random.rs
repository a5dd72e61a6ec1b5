//! Streams of random numbers. Each purpose has its own, so that two policies with the same seed see
//! the same arrivals and the same service times.

use fastrand::Rng;

/// What a stream of random numbers is for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// The times between two arrivals.
    Arrivals,
    /// The slow periods of a server.
    Periods(usize),
    /// What belongs to a request: its client, and its own slowness.
    Request(u64),
    /// The choices that a client makes for a request.
    Choices(u64),
    /// The service time of one job of a request.
    Job(u64, u32),
    /// The policy of a client.
    Client(usize),
}

/// Returns the seed of a stream.
pub(crate) fn seed(seed: u64, purpose: Purpose) -> u64 {
    let (kind, number, part) = match purpose {
        Purpose::Arrivals => (1, 0, 0),
        Purpose::Periods(server) => (2, server as u64, 0),
        Purpose::Request(number) => (3, number, 0),
        Purpose::Choices(number) => (4, number, 0),
        Purpose::Job(number, job) => (5, number, u64::from(job)),
        Purpose::Client(client) => (6, client as u64, 0),
    };
    [kind, number, part]
        .into_iter()
        .fold(mix(seed), |so_far, part| mix(so_far ^ mix(part)))
}

/// Returns a stream.
pub(crate) fn stream(seed_of_run: u64, purpose: Purpose) -> Rng {
    Rng::with_seed(seed(seed_of_run, purpose))
}

/// The step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Returns a uniform number in (0, 1].
pub(crate) fn above_zero(rng: &mut Rng) -> f64 {
    1.0 - rng.f64()
}
