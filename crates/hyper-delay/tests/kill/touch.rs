use serde_json::json;
use testkit::request::echo_with;

#[test]
fn a_touched_task_is_delivered_after_a_crash_whatever_its_deadline_was() {
    let directory = tempfile::tempdir().unwrap();
    let start = crate::start(directory.path());
    let server = start.run();
    let mut consumer = server.consumer("r");
    consumer.due("r", "1");
    let delivery = consumer.delivery();
    let touched = consumer.ask(&echo_with("touch", &delivery, r#""extend_ms":3600000"#));
    assert_eq!(touched["found"], true, "{touched}");
    server.kill();
    let server = start.run();
    let again = server.consumer("r").delivery();
    assert_eq!(
        (&again["id"], &again["attempt"]),
        (&json!("1"), &delivery["attempt"])
    );
}
