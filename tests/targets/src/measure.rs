//! The use of the stack, and its output without the formatting of `core`, which would be a part of
//! the measured program.

use core::ptr;

use cortex_m_rt::STACK_PAINT_VALUE;
use semihosting::{io::Write, process};

unsafe extern "C" {
    static _stack_start: u32;
    static _stack_end: u32;
}

/// Prints the size of the future and how much of the stack was used at most, both in bytes, and
/// exits. An output other than that of the winner exits with 1.
pub fn finish(future: usize, won: u32, expected: u32) -> ! {
    print(future);
    print(stack_used());
    process::exit(i32::from(won != expected));
}

/// How many bytes of the stack are no longer painted.
fn stack_used() -> usize {
    let (mut lowest, highest) = (&raw const _stack_end, &raw const _stack_start);
    // SAFETY: the linker script says that this is the memory of the stack.
    while lowest < highest && unsafe { ptr::read_volatile(lowest) } == STACK_PAINT_VALUE {
        lowest = lowest.wrapping_add(1);
    }
    highest as usize - lowest as usize
}

fn print(mut number: usize) {
    let mut line = *b"         0\n";
    let mut place = line.len() - 1;
    while number > 0 && place > 0 {
        place -= 1;
        line[place] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    if let Ok(mut output) = semihosting::io::stdout() {
        // The reader of the figures notices if they are missing.
        let _ = output.write_all(&line);
    }
}
