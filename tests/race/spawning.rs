//! Races inside futures that are spawned, boxed as `dyn Future + Send`, or used as axum handlers.
//!
//! The compiler decides whether such a future is `Send` with all lifetimes erased. These functions
//! must compile; most are also run.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use axum::{Router, extract::State, routing::get};
use race::{
    Adaptive, Backoff, Budget, RaceError, Steps, Verdict, observe::Counters, policy::RaceState,
    tokio::Race,
};

const DELAY: Duration = Duration::from_millis(50);

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[derive(Debug)]
struct Unreachable;

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unreachable")
    }
}

async fn ask(host: &str) -> Result<usize, Unreachable> {
    tokio::task::yield_now().await;
    Ok(host.len())
}

#[derive(Clone)]
struct Client {
    hosts: Vec<String>,
    budget: Arc<Budget>,
    adaptive: Arc<Adaptive>,
}

impl Client {
    fn new() -> Self {
        Self {
            hosts: ["one.example", "two.example"].map(String::from).into(),
            budget: Arc::new(Budget::percent(10)),
            adaptive: Arc::new(Adaptive::extra_load(5.0)),
        }
    }

    async fn over_self(&self) -> Option<usize> {
        let race = Race::of(DELAY, self.hosts.iter().map(|host| ask(host)));
        race.first_ok().await.ok().map(|won| won.output)
    }

    async fn with_args(&self) -> Option<usize> {
        let race = Race::new(DELAY, |host| ask(host), self.hosts.iter());
        race.first_ok().await.ok().map(|won| won.output)
    }

    async fn with_filter(&self) -> Option<usize> {
        let hosts = self.hosts.iter().filter(|host| !host.is_empty());
        let race = Race::of(DELAY, hosts.map(|host| async move { ask(host).await }));
        race.first_ok_by(|_error| Verdict::Retryable)
            .await
            .ok()
            .map(|won| won.output)
    }

    async fn with_borrowing_closures(&self) -> Option<usize> {
        let (hosts, mut seen) = (&self.hosts, 0);
        let counters = Counters::new();
        let delay = |index: usize| hosts.get(index).map(|_| DELAY);
        let race = Race::of(delay, hosts.iter().map(|host| ask(host)))
            .gate(|state: &RaceState<'_>| state.failed < hosts.len())
            .budget(&*self.budget)
            .observer(&counters)
            .on_event(|event| seen += event.index)
            .attempt_timeout(DELAY)
            .deadline(DELAY * 10)
            .max_in_flight(2);
        let won = race.first_by(|output| match output {
            Ok(length) if *length <= hosts[0].len() => Verdict::Accept,
            _ => Verdict::Fatal,
        });
        won.await.ok().and_then(|won| won.output.ok())
    }

    async fn with_quorum(&self) -> usize {
        let race = Race::of(&*self.adaptive, self.hosts.iter().map(|host| ask(host)));
        let quorum = race.quorum_by(2, |output| match output {
            Ok(_) => Verdict::Accept,
            Err(_) => Verdict::Retryable,
        });
        quorum.await.map_or(0, |accepted| accepted.len())
    }

    async fn with_stream_source(&self) -> Option<usize> {
        let hosts = futures::stream::iter(self.hosts.iter());
        let race = Race::from_stream(Steps::new([DELAY]), |host| ask(host), hosts);
        race.first_ok().await.ok().map(|won| won.output)
    }

    async fn with_from_fn(&self) -> Option<usize> {
        let race = Race::from_fn(Backoff::new(DELAY), |index| {
            ask(&self.hosts[index % self.hosts.len()])
        });
        let (won, _race) = race.max_attempts(3).first_ok().keep_race().await;
        won.ok().map(|won| won.output)
    }

    async fn as_stream(&self) -> usize {
        let mut race = Race::of(DELAY, self.hosts.iter().map(|host| ask(host)));
        let mut total = 0;
        while let Some((_, output)) = race.next().await {
            total += output.unwrap_or(0);
        }
        total
    }

    async fn as_first(&self) -> Option<usize> {
        let race = Race::of(DELAY, self.hosts.iter().map(|host| ask(host)));
        race.first().await.and_then(|won| won.output.ok())
    }

    fn boxed(&self) -> Boxed<'_, Option<usize>> {
        Box::pin(async move {
            let hosts: &[String] = &self.hosts;
            let race = Race::of(DELAY, hosts.iter().map(|host| ask(host)));
            race.first_ok().await.ok().map(|won| won.output)
        })
    }
}

async fn handler(client: Client) -> String {
    let race = Race::of(DELAY, client.hosts.iter().map(|host| ask(host)));
    match race.first_ok().await {
        Ok(won) => won.output.to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn race_is_awaited_in_an_axum_handler() {
    async fn answer(State(client): State<Client>) -> String {
        handler(client).await
    }
    let _router: Router = Router::new()
        .route("/", get(answer))
        .route(
            "/borrowed",
            get(|State(client): State<Client>| async move {
                client
                    .with_borrowing_closures()
                    .await
                    .map(|length| length.to_string())
                    .unwrap_or_default()
            }),
        )
        .with_state(Client::new());
}

#[tokio::test]
async fn every_shape_of_race_can_be_spawned() {
    async fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
        tokio::spawn(future).await.unwrap()
    }
    let client = Client::new();
    macro_rules! spawned {
        ($method:ident) => {{
            let client = client.clone();
            spawn(async move { client.$method().await }).await
        }};
    }
    assert_eq!(spawned!(over_self), Some(11));
    assert_eq!(spawned!(with_args), Some(11));
    assert_eq!(spawned!(with_filter), Some(11));
    assert_eq!(spawned!(with_borrowing_closures), Some(11));
    assert_eq!(spawned!(with_quorum), 2);
    assert_eq!(spawned!(with_stream_source), Some(11));
    assert_eq!(spawned!(with_from_fn), Some(11));
    assert_eq!(spawned!(as_stream), 22);
    assert_eq!(spawned!(as_first), Some(11));
    assert_eq!(spawned!(boxed), Some(11));
    assert_eq!(spawn(handler(client)).await, "11");
}

#[tokio::test]
async fn async_closures_that_own_their_argument_race_in_spawned_futures() {
    async fn ask(host: &str, key: &str) -> Result<String, String> {
        tokio::task::yield_now().await;
        Ok(format!("{key} from {host}"))
    }
    let hosts = ["one", "two"].map(String::from);
    let (names, key) = (hosts.clone(), String::from("key"));
    let by_reference = tokio::spawn(async move {
        let asks = names.into_iter().map(async |host| ask(&host, &key).await);
        let won = Race::of(Duration::from_secs(9), asks).first_ok().await?;
        Ok::<_, RaceError<usize, String>>((won.index, won.output))
    });
    assert_eq!(
        by_reference.await.unwrap().unwrap(),
        (0, "key from one".into())
    );
    let key = String::from("key");
    let moved = tokio::spawn(async move {
        let key = &key;
        let asks = hosts
            .into_iter()
            .map(async move |host: String| ask(&host, key).await);
        Race::of(Duration::from_secs(9), asks)
            .first_ok()
            .await
            .map(|won| won.index)
    });
    assert_eq!(moved.await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn retries_over_a_borrowed_connection_can_be_spawned_and_boxed() {
    struct Connection(Vec<String>);
    impl Connection {
        async fn ask(&mut self, host: &str) -> Result<usize, Unreachable> {
            tokio::task::yield_now().await;
            self.0.push(host.to_owned());
            match self.0.len() {
                3.. => Ok(self.0.len()),
                _ => Err(Unreachable),
            }
        }
    }
    async fn ask_again(connection: &mut Connection, host: &str) -> Option<usize> {
        let retry = Race::retry_with(Duration::ZERO, connection, async |connection| {
            let answer = connection.ask(host).await;
            (connection, answer)
        });
        let (connection, result) = retry.max_attempts(5).first_ok().await;
        assert_eq!(connection.map(|it| it.0.len()), Some(3));
        Some(result.ok()?.output)
    }
    let task = tokio::spawn(async {
        let (mut connection, host) = (Connection(vec![]), String::from("one"));
        let boxed: Boxed<'_, _> = Box::pin(ask_again(&mut connection, &host));
        boxed.await
    });
    assert_eq!(task.await.unwrap(), Some(3));
}
