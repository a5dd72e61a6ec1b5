//! Writes the manual pages and the shell completions of `hyper-delay` to a folder, for packages.
//! The default is `target/manual`.

use std::{env, fs, io, path::PathBuf};

use clap_complete::Shell;
use hyper_delay::internals::command_line;

/// The name of the binary, of which completions are made.
const NAME: &str = "hyper-delay";

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1);
    let folder = folder.map_or_else(|| PathBuf::from("target/manual"), PathBuf::from);
    if folder.exists() {
        // A page of a command that is gone must not stay.
        fs::remove_dir_all(&folder)?;
    }
    let pages = folder.join("man1");
    fs::create_dir_all(&pages)?;
    clap_mangen::generate_to(command_line(), &pages)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let completions = folder.join(shell.to_string());
        fs::create_dir_all(&completions)?;
        clap_complete::generate_to(shell, &mut command_line(), NAME, completions)?;
    }
    println!("wrote {}", folder.display());
    Ok(())
}
