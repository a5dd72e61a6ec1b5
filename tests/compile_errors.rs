//! The compiler's messages for common mistakes must name the cure.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles a program against the facade with these features. Returns the compiler's message.
fn message(name: &str, features: &str, program: &str) -> String {
    message_with(name, &dependency("race", features), program)
}

/// The line of a manifest for a crate of this workspace.
fn dependency(name: &str, features: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("crates")
        .join(name);
    format!("{name} = {{ path = {folder:?}, features = [{features}] }}\n")
}

/// Compiles a program with these dependencies. Returns the compiler's message.
fn message_with(name: &str, dependencies: &str, program: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compile-errors");
    let package = target.join(name);
    fs::create_dir_all(package.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = {name:?}\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\n{dependencies}"
    );
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
    fs::write(package.join("src/main.rs"), program).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--color=never", "--target-dir"])
        .arg(target.join("target"))
        .current_dir(&package)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{name} must not compile");
    String::from_utf8(output.stderr).unwrap()
}

fn assert_names_the_cure(message: &str, cure: &[&str]) {
    for part in cure {
        assert!(message.contains(part), "{part:?} is missing in:\n{message}");
    }
}

#[test]
fn race_without_timer_names_the_adapters() {
    let program = "fn main() {
        let delay = std::time::Duration::ZERO;
        let _ = race::core::Race::of(delay, [std::future::ready(1)]);
    }";
    let message = message("without-timer", "", program);
    assert_names_the_cure(
        &message,
        &["Timer", "race_tokio::Race", "Race::at(timer).of(..)"],
    );
}

#[test]
fn other_type_as_timer_names_the_features() {
    let program = "fn main() {
        let delay = std::time::Duration::ZERO;
        let _ = race::core::Race::at(()).of(delay, [std::future::ready(1)]);
    }";
    let message = message("no-timer", "", program);
    assert_names_the_cure(
        &message,
        &[
            "a race needs a `Timer`, and `()` is none",
            "features `tokio`, `async-io`, `smol`, `embassy`, `web`",
        ],
    );
}

#[test]
fn runtime_without_its_feature_names_the_feature() {
    for module in ["tokio", "async_io", "smol", "embassy", "web"] {
        let program = format!("use race::{module}::Race;\nfn main() {{}}");
        let message = message(&format!("missing-{module}"), "", &program);
        let feature = module.replace('_', "-");
        assert_names_the_cure(&message, &["configured out", &format!("`{feature}`")]);
    }
}

/// Compiles a program that races `futures` and has `adaptive`, a `LazyLock`.
fn message_of(name: &str, statement: &str) -> String {
    let program = format!(
        "use std::{{future::ready, sync::LazyLock, time::Duration}};\n\
         use race::{{Adaptive, Race}};\n\
         static ADAPTIVE: LazyLock<Adaptive> = LazyLock::new(|| Adaptive::quantile(0.9));\n\
         fn main() {{\n\
             let _ = &*ADAPTIVE;\n\
             let delay = Duration::ZERO;\n\
             let futures = [ready(Ok::<u32, String>(1))];\n\
             let _ = {statement};\n\
         }}\n"
    );
    message(name, "\"std\", \"adaptive\"", &program)
}

#[test]
fn number_as_policy_lists_the_policies() {
    let message = message_of("policy-number", "Race::of(50, futures)");
    assert_names_the_cure(
        &message,
        &[
            "does not say when attempts start",
            "a policy is a `Duration`, `Steps`, `GrowingDelay`, `Backoff`, `&Adaptive`",
            "|index: usize| -> Option<Duration>",
        ],
    );
}

#[test]
fn adaptive_with_a_timer_that_is_not_clone_names_clone() {
    let program = "use std::{future::ready, pin::Pin, sync::Arc, task::{Context, Poll}};
    use race::{Adaptive, Moment, Timer, core::Race};
    struct Mine;
    impl Timer for Mine {
        fn now(&self) -> Moment { Moment::ZERO }
        fn poll_until(self: Pin<&mut Self>, _: Moment, _: &mut Context<'_>) -> Poll<()> {
            Poll::Pending
        }
        fn disarm(self: Pin<&mut Self>) {}
    }
    fn main() {
        let adaptive = Arc::new(Adaptive::quantile(0.9));
        let _ = Race::at(Mine).of(&adaptive, [ready(1)]);
        let _ = Race::at(Mine).of(&*adaptive, [ready(1)]);
        let _ = Race::at(Mine).of(adaptive, [ready(1)]);
    }";
    let message = message("adaptive-not-clone", "\"std\", \"adaptive\"", program);
    for policy in ["&Adaptive", "Arc<Adaptive>", "&Arc<Adaptive>"] {
        let cause = "does not say when attempts start in a race with the timer `Mine`";
        assert_names_the_cure(&message, &[&format!("`{policy}` {cause}")]);
    }
    assert_names_the_cure(
        &message,
        &["so `Mine` must be `Clone`", "`adaptive.timed_by(clock)`"],
    );
}

#[test]
fn lazy_lock_as_policy_names_the_dereference() {
    let message = message_of("policy-lazy-lock", "Race::of(&ADAPTIVE, futures)");
    assert_names_the_cure(
        &message,
        &["LazyLock", "pass what it points to: `&*pointer`"],
    );
}

#[test]
fn closure_as_observer_names_on_event() {
    let statement = "Race::of(delay, futures).observer(|_event| {}).first_ok()";
    let message = message_of("observer-closure", statement);
    assert_names_the_cure(
        &message,
        &["cannot observe a race", "`.on_event(|event| ..)`"],
    );
}

#[test]
fn lazy_lock_as_observer_names_the_dereference() {
    let statement = "Race::of(delay, futures).observer(&ADAPTIVE)";
    let message = message_of("observer-lazy-lock", statement);
    assert_names_the_cure(
        &message,
        &[
            "cannot observe a race",
            "pass what it points to: `&*pointer`",
        ],
    );
}

#[test]
fn owned_budget_names_the_reference() {
    let statement = "Race::of(delay, futures).budget(race::Budget::percent(5))";
    let message = message_of("budget-owned", statement);
    assert_names_the_cure(
        &message,
        &[
            "is not a budget that races can share",
            "consider borrowing here",
        ],
    );
}

#[test]
fn other_type_as_budget_lists_the_budgets() {
    let statement = "Race::of(delay, futures).budget(&ADAPTIVE)";
    let message = message_of("budget-lazy-lock", statement);
    assert_names_the_cure(
        &message,
        &[
            "a budget is a `&Budget`, an `Arc<Budget>`",
            "pass what it points to: `&*pointer`",
        ],
    );
}

#[test]
fn option_after_finisher_names_the_finisher_and_the_option() {
    let statement = "Race::of(delay, futures).first_ok().deadline(delay)";
    let message = message_of("option-after-finisher", statement);
    assert_names_the_cure(&message, &["no method named `deadline`", "Decision"]);
}

#[test]
fn tuple_of_different_outputs_names_the_map() {
    let statement = "Race::of(delay, (ready(1), ready(\"two\")))";
    let message = message_of("tuple-outputs", statement);
    assert_names_the_cure(
        &message,
        &[
            "a race cannot be made of `(std::future::Ready<{integer}>, std::future::Ready<&str>)`",
            "map different outputs to one type first",
        ],
    );
}

#[test]
fn number_as_attempts_names_iterator_and_tuple() {
    let message = message_of("no-attempts", "Race::of(delay, 5)");
    assert_names_the_cure(
        &message,
        &["neither an iterator of futures nor a tuple of futures with one output type"],
    );
}

/// Compiles a program that asks `hosts` with a `key` in a race.
fn message_of_closure(name: &str, race: &str) -> String {
    let program = format!(
        "use std::time::Duration;\n\
         use race::Race;\n\
         async fn ask(host: &str, key: &str) -> Result<usize, String> {{ Ok(host.len() + key.len()) }}\n\
         fn spawn<F: Future + Send + 'static>(_: F) {{}}\n\
         fn main() {{\n\
             let (delay, key) = (Duration::ZERO, String::new());\n\
             let hosts = vec![String::from(\"one\")];\n\
             spawn(async move {{ {race}.await.map(|won| won.index) }});\n\
         }}\n"
    );
    message(name, "\"std\"", &program)
}

#[test]
fn async_closure_that_borrows_its_argument_names_the_map() {
    let ask = "async |host: &String| ask(host, &key).await";
    let cures = ["FnMut(&X) -> F, //", "S: Source, //"].map(|bound| {
        (
            bound,
            "Race::of(policy, args.into_iter().map(async |arg| ..))",
        )
    });
    let race = format!("Race::new(delay, {ask}, hosts).first_ok()");
    let message = message_of_closure("closure-borrows", &race);
    for (bound, cure) in cures {
        let quoted = message.lines().find(|line| line.contains(bound));
        assert_names_the_cure(quoted.unwrap_or(&message), &[bound, cure]);
    }
}

#[test]
fn async_move_closure_that_captures_names_the_reference() {
    let ask = "async move |host: &String| ask(host, &key).await";
    let race = format!("Race::new(delay, {ask}, hosts).first_ok()");
    let message = message_of_closure("closure-captures", &race);
    let not_fn_mut = "async closure does not implement `FnMut`";
    assert_names_the_cure(&message, &[not_fn_mut, "and capture by reference"]);

    let race = "Race::from_fn(delay, async move |_| ask(\"one\", &key).await).first_ok()";
    let message = message_of_closure("closure-captures-from-fn", race);
    assert_names_the_cure(&message, &[not_fn_mut, "let value = &value;"]);
}

/// The dependencies of a program that hedges a service of tower.
fn tower() -> String {
    dependency("race-tower", "\"tokio\"") + "tower-layer = \"0.3\"\ntower-service = \"0.3\"\n"
}

#[test]
fn hedged_service_that_is_not_clone_names_the_buffer() {
    let program = "
    struct Mail;
    impl tower_service::Service<u8> for Mail {
        type Response = u8;
        type Error = std::io::Error;
        type Future = std::future::Ready<std::io::Result<u8>>;
        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
        fn call(&mut self, request: u8) -> Self::Future { std::future::ready(Ok(request)) }
    }
    fn main() {
        use tower_layer::Layer as _;
        let layer = race_tower::tokio::HedgeLayer::new(std::time::Duration::ZERO);
        let _ = layer.layer(Mail);
    }";
    let message = message_with("hedge-not-clone", &tower(), program);
    assert_names_the_cure(&message, &["Mail", "Clone", "behind a `Buffer`"]);
}

/// Compiles a service whose requests are not `Clone`, hedged by a layer with these options.
fn hedged_letters(name: &str, options: &str) -> String {
    let program = format!(
        "
    #[derive(Clone)]
    struct Mail;
    struct Letter;
    impl tower_service::Service<Letter> for Mail {{
        type Response = u8;
        type Error = std::io::Error;
        type Future = std::future::Ready<std::io::Result<u8>>;
        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {{
            std::task::Poll::Ready(Ok(()))
        }}
        fn call(&mut self, _: Letter) -> Self::Future {{ std::future::ready(Ok(1)) }}
    }}
    fn serve(_: impl tower_service::Service<Letter>) {{}}
    fn main() {{
        use tower_layer::Layer as _;
        let layer = race_tower::tokio::HedgeLayer::new(std::time::Duration::ZERO){options};
        serve(layer.layer(Mail));
    }}"
    );
    message_with(name, &tower(), &program)
}

#[test]
fn request_that_is_not_clone_names_the_trait() {
    let message = hedged_letters("hedge-request", "");
    let cure = [
        "`Clone` is not implemented for `Letter`",
        "#[derive(Clone)]",
        "CloneRequests",
    ];
    assert_names_the_cure(&message, &cure);
}

#[test]
fn other_type_as_rules_names_those_of_closures() {
    let message = hedged_letters("hedge-rules", ".rules(())");
    let cure = [
        "`()` cannot repeat requests of type `Letter`",
        "`.rules(FnRules::new(..))`",
    ];
    assert_names_the_cure(&message, &cure);
}

#[test]
fn adaptive_as_delays_of_a_store_names_adaptive_delays() {
    let dependency = dependency("race-object-store", "\"adaptive\"");
    for (name, delays) in [
        ("delays-adaptive", "Adaptive::extra_load(5.0)"),
        (
            "delays-arc",
            "std::sync::Arc::new(Adaptive::extra_load(5.0))",
        ),
        ("delays-number", "50"),
    ] {
        let program = format!(
            "use race_object_store::{{object_store::memory::InMemory, race_core::Adaptive}};\n\
             fn main() {{\n\
                 let _ = |_: Adaptive| ();\n\
                 let _ = race_object_store::HedgedStore::new(InMemory::new(), {delays});\n\
             }}\n"
        );
        let message = message_with(name, &dependency, &program);
        assert_names_the_cure(
            &message,
            &[
                "does not say when reads are hedged: it does not implement `Delays`",
                "delays are a `Duration`, `AdaptiveDelays` (feature `adaptive`)",
                "use `AdaptiveDelays::new(|_class| adaptive())`",
            ],
        );
    }
}
