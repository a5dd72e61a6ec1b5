//! Cross compilation with the compiler of the declared `rust-version`, which builds the standard
//! library from source.

use std::path::{Path, PathBuf};

use crate::{msrv, step::Step, workspace};

/// The target that has `std`.
pub(super) const WASM: &str = "wasm32-unknown-unknown";

const LINKER: &str = "-Clinker=rust-lld";

/// The profile `dev` of `tests/targets`, so that `core` is built once for both.
const BARE: &[(&str, &str)] = &[("DEBUG", "0"), ("OPT_LEVEL", "z"), ("PANIC", "abort")];

/// The profile `dev` of `tests/web`, for the same reason.
const WEB: &[(&str, &str)] = &[("DEBUG", "0"), ("OPT_LEVEL", "0")];

pub(super) struct Compiler {
    rustc: PathBuf,
    /// The folder of `rust-lld`.
    linker: PathBuf,
    target_directory: PathBuf,
}

impl Compiler {
    /// Looks for the compiler, its source and a linker.
    pub(super) fn find() -> Result<Self, String> {
        let rustc = msrv::compiler()?;
        let source = sysroot(&rustc)?.join("lib/rustlib/src/rust/library/core/Cargo.toml");
        if !source.exists() {
            return Err(format!(
                "{} is missing: install Debian's rust-web-src of the same version, or \
                 `rustup component add rust-src` for that toolchain",
                source.display()
            ));
        }
        Ok(Self {
            linker: linker(&rustc)?,
            rustc,
            target_directory: workspace::target()?.join("targets"),
        })
    }

    /// `cargo` with these arguments for a target.
    pub(super) fn cargo(&self, arguments: &str, target: &str, flags: &str) -> Step {
        let (libraries, profile) = match target {
            WASM => ("std,panic_abort", WEB),
            _ => ("core,alloc", BARE),
        };
        // The same in each step where possible: other flags or another profile build `core` again.
        let flags = format!("{LINKER} {flags}");
        let step = self.step(arguments, libraries, target, &flags);
        profile.iter().fold(step, |step, (name, value)| {
            step.env(&format!("CARGO_PROFILE_DEV_{name}"), value)
        })
    }

    /// The same for a platform with an operating system and a linker of its own.
    pub(super) fn platform(&self, arguments: &str, target: &str, flags: &str) -> Step {
        let libraries = "std,panic_unwind,proc_macro,test";
        self.step(arguments, libraries, target, flags)
    }

    fn step(&self, arguments: &str, libraries: &str, target: &str, flags: &str) -> Step {
        Step::cargo(&format!(
            "{arguments} --locked -Zbuild-std={libraries} --target {target}"
        ))
        .env("RUSTC", &self.rustc)
        // `-Zbuild-std` is unstable, and the compiler is a stable one.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", format!("{} {flags}", msrv::QUIET))
        .env("CARGO_TARGET_DIR", &self.target_directory)
        .path_first(&self.linker)
    }

    /// The program of a package that was built for a target.
    pub(super) fn program(&self, target: &str, profile: &str, name: &str) -> PathBuf {
        let folder = self.target_directory.join(target).join(profile);
        folder.join(name)
    }
}

/// The folder of a `rust-lld`: that of the compiler, or that of the current toolchain. Debian's
/// compiler has none.
fn linker(rustc: &Path) -> Result<PathBuf, String> {
    let host = workspace::host()?;
    for compiler in [rustc, Path::new("rustc")] {
        let folder = sysroot(compiler)?
            .join("lib/rustlib")
            .join(&host)
            .join("bin");
        if folder.join("rust-lld").exists() {
            return Ok(folder);
        }
    }
    Err("no rust-lld: install a toolchain with rustup".to_owned())
}

fn sysroot(rustc: &Path) -> Result<PathBuf, String> {
    let sysroot = Step::program(rustc, "--print=sysroot");
    let sysroot = sysroot.output();
    let sysroot = sysroot.ok_or_else(|| format!("{} tells no sysroot", rustc.display()))?;
    Ok(PathBuf::from(sysroot))
}
