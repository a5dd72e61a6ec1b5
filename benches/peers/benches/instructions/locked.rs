//! Counts the locked instructions: those with the prefix `lock`, and `xchg` with memory.
//!
//! Callgrind reports how often the instruction at an address was executed, objdump which
//! instruction it is. Only instructions of this executable count, not those of the C library.

use std::{
    collections::HashSet,
    env,
    error::Error,
    fs,
    path::PathBuf,
    process::{self, Command},
};

use crate::{
    callgrind::{Run, Turns},
    table::COUNTED_RUN,
};

pub(crate) struct Locked {
    executable: String,
    /// The addresses of the locked instructions in it.
    addresses: HashSet<u64>,
}

impl Locked {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let executable = env::current_exe()?;
        let output = Command::new("objdump")
            .args(["--disassemble", "--no-show-raw-insn"])
            .arg(&executable)
            .output()
            .map_err(|error| {
                format!("cannot run objdump: {error}; install Debian's package `binutils`")
            })?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(format!("objdump failed: {message}").into());
        }
        let listing = String::from_utf8_lossy(&output.stdout);
        Ok(Self {
            executable: executable.to_string_lossy().into_owned(),
            addresses: listing.lines().filter_map(locked_address).collect(),
        })
    }

    /// Returns the number of locked instructions per turn of a cell.
    pub(crate) fn per_turn(
        &self,
        row: usize,
        column: usize,
        turns: Turns,
    ) -> Result<f64, Box<dyn Error>> {
        Ok(turns.each(
            self.run(row, column, turns.few)?,
            self.run(row, column, turns.many)?,
        ))
    }

    fn run(&self, row: usize, column: usize, turns: u64) -> Result<u64, Box<dyn Error>> {
        let profile = Profile::new();
        let mut out_file = std::ffi::OsString::from("--callgrind-out-file=");
        out_file.push(&profile.0);
        let options = [
            "--dump-instr=yes",
            "--compress-strings=no",
            "--compress-pos=no",
        ];
        let options = options.iter().map(Into::into).chain([out_file]);
        let cell = [row.to_string(), column.to_string()];
        Run::start(&[COUNTED_RUN, &cell[0], &cell[1]], turns, options)?.finish()?;
        let profile = fs::read_to_string(&profile.0)?;
        let count = self.executed(&profile);
        count.ok_or_else(|| "unexpected profile of callgrind".into())
    }

    /// Adds up the executions in a profile. Returns `None` if this executable is not in it.
    fn executed(&self, profile: &str) -> Option<u64> {
        let (mut seen, mut inside, mut inclusive, mut sum) = (false, false, false, 0);
        for line in profile.lines() {
            if let Some(object) = line.strip_prefix("ob=") {
                inside = object == self.executable;
                seen |= inside;
            } else if line.starts_with("calls=") {
                inclusive = true; // the next line has the cost of the call
            } else if line.starts_with("0x") && !std::mem::take(&mut inclusive) && inside {
                let mut fields = line.split(' ');
                let address = u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok()?;
                if self.addresses.contains(&address) {
                    sum += fields.nth(1)?.parse::<u64>().ok()?;
                }
            }
        }
        seen.then_some(sum)
    }
}

/// Parses a line such as `1b48d:<tab>lock orq $0x4,0x228(%r14)`.
fn locked_address(line: &str) -> Option<u64> {
    let (address, instruction) = line.split_once(":\t")?;
    let is_locked = instruction.starts_with("lock ")
        || instruction.starts_with("xchg ") && instruction.contains('(');
    let address = is_locked.then(|| address.trim())?;
    u64::from_str_radix(address, 16).ok()
}

/// A profile file; deleted on drop.
struct Profile(PathBuf);

impl Profile {
    fn new() -> Self {
        Self(env::temp_dir().join(format!("race-instructions-{}.callgrind", process::id())))
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
