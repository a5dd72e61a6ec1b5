use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::Args;
use hyper_delay_client::Content;

use super::{
    CommandError,
    error::DecompressError,
    output::{print, print_json},
    remote::Remote,
    task_format::{describe_task, print_payload},
};
use hyper_delay_protocol::{Compression, inflate::inflate};

/// Print the state, times, attempts and terms of a task; fail if it does not exist.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay get service-A order-17 --payload --decompress")]
pub(super) struct Get {
    /// The route of the task.
    route: String,
    /// The id of the task on the route.
    id: String,
    /// Also print the headers and the payload on the next lines: as text, or in base64 if it is not
    /// text.
    #[arg(long)]
    payload: bool,
    /// Print the payload decompressed. Default: print it as it is stored.
    #[arg(long, requires = "payload")]
    decompress: bool,
    /// Print the task as one line of JSON, with the fields of the protocol.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Get {
    pub(super) async fn run(self) -> Result<(), CommandError> {
        let client = self.remote.connect().await?;
        let (route, id) = (self.route, self.id);
        let task = client.get(&route, &id).payload(self.payload).await?;
        let Some(mut task) = task else {
            return Err(CommandError::NoTask { route, id });
        };
        if self.decompress {
            decompress(&mut task.content)
                .map_err(|error| CommandError::Decompress { id, error })?;
        }
        if self.json {
            return print_json(&task);
        }
        print(&describe_task(&task))?;
        print_payload(&task.content)
    }
}

/// Decompresses the payload, if there is one and its compression is known.
fn decompress(content: &mut Content) -> Result<(), DecompressError> {
    /// The highest `max_line_bytes` of a server: no delivery has a longer payload.
    const LONGEST: usize = 16 << 20;
    let (Some(label), Some(payload)) = (&content.compression, content.payload()) else {
        return Ok(());
    };
    let known = [Compression::None, Compression::Lz4, Compression::Zstd];
    let Some(compression) = known.into_iter().find(|known| known.as_str() == label) else {
        return Err(DecompressError::Unknown(label.clone()));
    };
    let inflated = inflate(compression, &payload, LONGEST)?;
    content.payload_base64 = Some(STANDARD.encode(inflated));
    content.compression = Some(Compression::None.as_str().to_owned());
    Ok(())
}
