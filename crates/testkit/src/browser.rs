//! A headless Chromium, driven over WebDriver.

use std::{
    env,
    io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::RecvTimeoutError,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{PATIENCE, Process, http, process::lines};

/// The name of an element's reference in WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser. Closed when dropped.
#[derive(Debug)]
pub struct Browser {
    address: SocketAddr,
    session: String,
    /// Ends before its folder goes.
    _driver: Process,
    _folder: TempDir,
}

impl Browser {
    /// Starts a browser. Returns `None`, with a note, if Chromium is not installed; then
    /// `HYPER_DELAY_REQUIRE_CHROMIUM` must not be set.
    ///
    /// # Panics
    ///
    /// If the browser does not start, or is required and missing.
    #[must_use]
    pub fn start(dark: bool) -> Option<Self> {
        // The browser leaves folders there.
        let folder = tempfile::tempdir().expect("a folder can be made");
        let Some((driver, port)) = driver(folder.path()) else {
            let is_required = env::var_os("HYPER_DELAY_REQUIRE_CHROMIUM").is_some();
            assert!(
                !is_required,
                "chromedriver is missing: install chromium-driver"
            );
            println!("NOTE: nothing is proved here: chromedriver is not installed");
            return None;
        };
        let mut browser = Self {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            session: String::new(),
            _driver: driver,
            _folder: folder,
        };
        let mut arguments = vec![
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1280,1600",
        ];
        if dark {
            arguments.push("--blink-settings=preferredColorScheme=0");
        }
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
            // A slow machine needs longer than the 30 s that a script has by default.
            "timeouts": {"script": PATIENCE.as_millis() as u64},
        }}});
        let begun = browser.send("POST", "/session", &capabilities);
        let session = begun["sessionId"].as_str().expect("the browser starts");
        browser.session = format!("/session/{session}");
        Some(browser)
    }

    /// Opens an address.
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    /// Runs a script as the body of a function, and returns its value.
    #[expect(clippy::must_use_candidate, reason = "a script can have an effect")]
    #[track_caller]
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Runs a script until its value is true.
    #[track_caller]
    pub fn until(&self, script: &str) {
        let start = Instant::now();
        while self.run(script) != Value::Bool(true) {
            if start.elapsed() > PATIENCE {
                let page = self.run("return document.body.innerText");
                panic!(
                    "never true: {script}\n{}",
                    page.as_str().unwrap_or_default()
                );
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the text of an element is this one.
    #[track_caller]
    pub fn until_text(&self, css: &str, text: &str) {
        let (css, text) = (Value::from(css), Value::from(text));
        self.until(&format!(
            "return document.querySelector({css})?.textContent === {text}"
        ));
    }

    /// The text of an element.
    #[must_use]
    #[track_caller]
    pub fn text(&self, css: &str) -> String {
        let css = Value::from(css);
        let text = self.run(&format!("return document.querySelector({css}).textContent"));
        text.as_str().expect("it has a text").to_owned()
    }

    /// Clicks an element, as a person does.
    #[track_caller]
    pub fn click(&self, css: &str) {
        let element = self.element(css);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Types into an element, as a person does.
    #[track_caller]
    pub fn write(&self, css: &str, text: &str) {
        let element = self.element(css);
        self.post(&format!("/element/{element}/value"), &json!({"text": text}));
    }

    /// Presses keys, one after the other, where the focus is. WebDriver gives the names of keys
    /// such as Tab characters of their own.
    #[track_caller]
    pub fn press(&self, keys: &[char]) {
        let keys: Vec<Value> = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key})))
            .collect();
        let actions = json!({"actions": [{"type": "key", "id": "keys", "actions": keys}]});
        self.post("/actions", &actions);
    }

    /// Changes the size of the window.
    pub fn resize(&self, width: u32, height: u32) {
        self.post("/window/rect", &json!({"width": width, "height": height}));
    }

    /// Opens another tab before this one, so that this one is hidden. Returns the handle of this
    /// one.
    #[must_use]
    pub fn hide(&self) -> String {
        let before = self.get("/window");
        let opened = self.post("/window/new", &json!({"type": "tab"}));
        self.post("/window", &json!({"handle": opened["handle"]}));
        before.as_str().expect("it is a handle").to_owned()
    }

    /// Shows a tab.
    pub fn show(&self, handle: &str) {
        self.post("/window", &json!({"handle": handle}));
    }

    /// What the page has written to its console, and what the browser has refused, since the last
    /// call.
    #[must_use]
    pub fn console(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "browser"}));
        let entries = log.as_array().expect("it is a list").iter();
        let line = |entry: &Value| format!("{} {}", entry["level"], entry["message"]);
        entries.map(line).collect()
    }

    /// A picture of the page, as a PNG in base64.
    #[must_use]
    pub fn picture(&self) -> String {
        let picture = self.get("/screenshot");
        picture.as_str().expect("it is base64").to_owned()
    }

    #[track_caller]
    fn element(&self, css: &str) -> String {
        let by = json!({"using": "css selector", "value": css});
        let element = self.post("/element", &by);
        element[ELEMENT].as_str().expect("it exists").to_owned()
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.send("GET", &format!("{}{path}", self.session), &Value::Null)
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        self.send("POST", &format!("{}{path}", self.session), body)
    }

    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let stream = http::connect(self.address);
        (&stream)
            .write_all(format!("{head}{body}").as_bytes())
            .expect("the driver reads");
        let mut reader = BufReader::new(&stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            let read = reader.read_line(&mut line).expect("the driver answers");
            assert_ne!(read, 0, "the driver has ended");
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("it is a length");
            }
            if line.is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).expect("the driver answers");
        let mut answer: Value = serde_json::from_slice(&answer).expect("the driver sends JSON");
        let value = answer["value"].take();
        let error = &value["error"];
        assert!(!error.is_string(), "{method} {path} {body}: {value}");
        value
    }
}

/// Starts the driver, and returns its port, or `None` if there is none.
///
/// It takes a free port of `::1` and then the same port of `127.0.0.1`, which a connection of
/// another test can have; then it ends, and another attempt has another port.
fn driver(folder: &Path) -> Option<(Process, u16)> {
    let mut said = Vec::new();
    for _ in 0..20 {
        let mut command = Command::new("chromedriver");
        command
            .arg("--port=0")
            .env("TMPDIR", folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut driver = match Process::spawn(&mut command) {
            Ok(driver) => driver,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => panic!("chromedriver cannot be started: {error}"),
        };
        let output = lines(driver.child().stdout.take().expect("it is piped"));
        loop {
            match output.recv_timeout(PATIENCE) {
                Ok(line) => {
                    if let Some((_, rest)) = line.split_once("started successfully on port ") {
                        let port = rest.trim_end_matches('.').parse();
                        return Some((driver, port.expect("it is a port")));
                    }
                    said.push(line);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the driver never listens: {said:?}"),
            }
        }
    }
    panic!("the driver ends: {said:?}")
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !thread::panicking() {
            let _ = self.send("DELETE", &self.session, &Value::Null);
        } else if !self.session.is_empty() {
            // A second panic would abort the test.
            let head = format!(
                "DELETE {} HTTP/1.1\r\nhost: localhost\r\n\r\n",
                self.session
            );
            if let Ok(mut stream) = std::net::TcpStream::connect(self.address) {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.read(&mut [0; 64]);
            }
        }
    }
}
