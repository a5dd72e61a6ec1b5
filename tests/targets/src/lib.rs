//! What the firmware shares: embassy's executor and time driver for the machines of QEMU.

#![no_std]

mod clock;
pub mod executor;
#[cfg(feature = "alloc")]
pub mod heap;

#[cfg_attr(target_arch = "arm", path = "machine/cortex_m.rs")]
#[cfg_attr(target_arch = "riscv32", path = "machine/riscv.rs")]
pub mod machine;
#[cfg(feature = "size")]
pub mod measure;

#[cfg(target_arch = "arm")]
pub use cortex_m_rt::entry;
#[cfg(target_arch = "riscv32")]
pub use riscv_rt::entry;
