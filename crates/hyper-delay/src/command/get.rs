use clap::Args;

use super::{
    Failure,
    listing::{described, print_payload},
    remote::{Remote, print, print_json},
};

/// Print one task: its state, its times and its attempts; fail if it does not exist.
#[derive(Debug, Args)]
#[command(after_help = "Example: hyper-delay get service-A order-17 --payload")]
pub(super) struct Get {
    /// The route of the task.
    route: String,
    /// The id of the task on the route.
    id: String,
    /// Print the payload, too: on the next line, or in base64 if it is no text.
    #[arg(long)]
    payload: bool,
    /// Print the task as one line of JSON, with the fields of the protocol.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Get {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let client = self.remote.connect().await?;
        let (route, id) = (self.route, self.id);
        let task = client.get(&route, &id).payload(self.payload).await?;
        let Some(task) = task else {
            return Err(Failure::NoTask { route, id });
        };
        if self.json {
            return print_json(&task);
        }
        print(&described(&task))?;
        print_payload(&task.content)
    }
}
