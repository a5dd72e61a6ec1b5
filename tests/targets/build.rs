//! Writes the memory map of the machine, and passes the linker script of the runtime.

use std::{env, error::Error, fs, path::Path};

/// 256 kB of flash and 16 kB of RAM.
const MICROBIT: &str = "
MEMORY {
    FLASH : ORIGIN = 0x00000000, LENGTH = 256K
    RAM   : ORIGIN = 0x20000000, LENGTH = 16K
}
";

/// `mps2-an385` and `mps2-an386`: two memories of 4 MB.
const MPS2: &str = "
MEMORY {
    FLASH : ORIGIN = 0x00000000, LENGTH = 4M
    RAM   : ORIGIN = 0x20000000, LENGTH = 4M
}
";

/// `virt` of riscv32: everything is in RAM.
const VIRT: &str = r#"
MEMORY {
    RAM : ORIGIN = 0x80000000, LENGTH = 16M
}
REGION_ALIAS("REGION_TEXT", RAM);
REGION_ALIAS("REGION_RODATA", RAM);
REGION_ALIAS("REGION_DATA", RAM);
REGION_ALIAS("REGION_BSS", RAM);
REGION_ALIAS("REGION_HEAP", RAM);
REGION_ALIAS("REGION_STACK", RAM);
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arm = env::var("CARGO_CFG_TARGET_ARCH")? == "arm";
    let microbit = env::var_os("CARGO_FEATURE_MICROBIT").is_some();
    let memory = match (arm, microbit) {
        (true, true) => MICROBIT,
        (true, false) => MPS2,
        (false, _) => VIRT,
    };
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("memory.x"), memory)?;
    println!("cargo:rustc-link-search={folder}");
    if !arm {
        println!("cargo:rustc-link-arg=-Tmemory.x");
    }
    println!("cargo:rustc-link-arg=-Tlink.x");
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}
