//! The name of the processor.

use std::fs;

/// Returns the model name, the family and the model, where `/proc/cpuinfo` has them.
pub(crate) fn name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name| {
        info.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim())
        })
    };
    match (field("model name"), field("cpu family"), field("model")) {
        (Some(name), Some(family), Some(model)) => {
            format!("{name}, family {family}, model {model}")
        }
        _ => "unknown processor".into(),
    }
}
