//! A board that asks three sensors for the temperature, staggered.
//!
//! The second sensor is asked when the first has not answered after 50 ms, or at once when it
//! fails. The first good answer wins, and the other attempts are cancelled. There is no allocator.

#![no_std]
#![no_main]

use core::{fmt, panic::PanicInfo, time::Duration};

use embassy_executor::Spawner;
use embassy_time::Timer;
use race_embassy::InlineRace;
use race_targets::{entry, executor, machine};
use semihosting::{println, process};

const DELAY: Duration = Duration::from_millis(50);

/// A sensor on a bus: how long it takes to answer, and what it answers.
#[derive(Clone, Copy)]
struct Sensor {
    name: &'static str,
    millis: u64,
    answer: Result<i32, Fault>,
}

/// Why a sensor has no answer.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Busy,
    Unplugged,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "busy",
            Self::Unplugged => "unplugged",
        })
    }
}

const fn sensor(name: &'static str, millis: u64, answer: Result<i32, Fault>) -> Sensor {
    Sensor {
        name,
        millis,
        answer,
    }
}

/// A good day: the first sensor is slow.
const SLOW: [Sensor; 3] = [
    sensor("roof", 900, Ok(21)),
    sensor("wall", 20, Ok(22)),
    sensor("cellar", 10, Ok(17)),
];

/// A bad day: the first two sensors fail.
const FAULTY: [Sensor; 3] = [
    sensor("roof", 5, Err(Fault::Busy)),
    sensor("wall", 5, Err(Fault::Unplugged)),
    sensor("cellar", 10, Ok(17)),
];

/// All sensors fail; the last one by not answering.
const DEAD: [Sensor; 3] = [
    sensor("roof", 5, Err(Fault::Busy)),
    sensor("wall", 5, Err(Fault::Unplugged)),
    sensor("cellar", 60_000, Ok(17)),
];

/// Asks one sensor.
async fn ask(sensor: Sensor) -> Result<i32, Fault> {
    println!("  asking {}", sensor.name);
    Timer::after_millis(sensor.millis).await;
    sensor.answer
}

/// Asks the sensors, staggered.
async fn temperature(sensors: [Sensor; 3]) {
    let race = InlineRace::<3, _>::new(DELAY, |&sensor| ask(sensor), sensors)
        .attempt_timeout(Duration::from_millis(200))
        .deadline(Duration::from_secs(1));
    match race.first_ok().await {
        Ok(won) => println!(
            "{} °C from {} after {} ms",
            won.output,
            won.arg.name,
            won.elapsed.as_millis() as u32
        ),
        Err(error) => println!("no temperature: {error}"),
    }
}

#[embassy_executor::task]
async fn board() {
    println!("a slow sensor");
    temperature(SLOW).await;
    println!("two faulty sensors");
    temperature(FAULTY).await;
    println!("no sensor");
    temperature(DEAD).await;
    process::exit(0);
}

#[entry]
fn main() -> ! {
    machine::start_clock();
    executor::run(|spawner: Spawner| spawner.spawn(board().expect("it is spawned once")))
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    println!("{info}");
    process::exit(101)
}
