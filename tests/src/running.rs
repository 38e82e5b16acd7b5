//! The running stack as the tests see it: its addresses, and the sandbox's control calls.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The interval between two checks of a condition.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The time limit for everything that no customer waits for.
pub const SOON: Duration = Duration::from_secs(90);

/// The workspace's `target` directory.
#[must_use]
pub fn target_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")
}

/// The operators' command line, built beside the test program, without credentials of its own.
///
/// # Panics
/// When it is not built.
#[must_use]
pub fn program() -> Command {
    let test = std::env::current_exe().expect("this program has a path");
    let program = test.ancestors().nth(2).expect("a target directory").join("oracle");
    assert!(program.is_file(), "build it first: cargo build -p oracle-cli");
    let mut command = Command::new(program);
    for name in ["AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL"] {
        command.env_remove(name);
    }
    command
}

/// Checks until `look` returns a value or the time is over.
pub async fn poll<T>(within: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + within;
    loop {
        let found = look().await;
        if found.is_some() || Instant::now() >= deadline {
            return found;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// As [`poll`]; after the deadline the test fails with the name of the missing thing.
pub async fn eventually<T>(what: &str, within: Duration, look: impl AsyncFnMut() -> Option<T>) -> T {
    poll(within, look).await.unwrap_or_else(|| panic!("waited {within:?} for {what}"))
}

/// A text that no other test run has used.
#[must_use]
pub fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock stands before 1970").as_millis();
    format!("{now}x{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The site and the sandbox behind it.
pub struct Stack {
    /// The public URL, without a slash at the end.
    pub site: String,
    /// The sandbox's URL, with the imitated third parties and their control calls, without a slash at the end.
    pub sandbox: String,
    /// The complete description that `cargo xtask up` wrote.
    pub description: Value,
    /// The directory of the stack's files.
    pub directory: PathBuf,
    http: reqwest::Client,
}

impl Stack {
    /// The files that describe the running stacks: those that ORACLE_STACK names, separated as in PATH, or else the one
    /// that `cargo xtask up` writes.
    #[must_use]
    pub fn files() -> Vec<PathBuf> {
        match std::env::var_os("ORACLE_STACK") {
            Some(named) => std::env::split_paths(&named).collect(),
            None => vec![target_directory().join("local/stack.json")],
        }
    }

    /// The first of the running stacks.
    ///
    /// # Panics
    /// When no stack is running.
    #[must_use]
    pub fn running() -> Self {
        Self::of(Self::files().first().expect("ORACLE_STACK names a file"))
    }

    /// Reads the addresses that `cargo xtask up` wrote.
    ///
    /// # Panics
    /// When the stack is not running.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| {
            panic!(
                "no running stack: {} cannot be read ({error}). Start one with `cargo xtask up --detach`, or let \
                 ORACLE_STACK name the file that describes it.",
                path.display()
            )
        });
        let stack: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: not JSON: {error}", path.display()));
        let address = |field: &str| match stack[field].as_str() {
            Some(address) => address.trim_end_matches('/').to_owned(),
            None => panic!("{}: the field {field:?} is missing", path.display()),
        };
        let directory = path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self {
            site: address("site"),
            sandbox: address("sandbox"),
            directory: directory.parent().expect("a file lies in a directory").to_owned(),
            description: stack,
            http: reqwest::Client::new(),
        }
    }

    /// The status and body of a GET; a body that is not JSON is a string.
    pub async fn get(&self, url: &str) -> (u16, Value) {
        let reply = self.http.get(url).send().await.unwrap_or_else(|error| panic!("GET {url}: {error}"));
        let status = reply.status().as_u16();
        let text = reply.text().await.unwrap_or_else(|error| panic!("GET {url}: {error}"));
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// The answer of a control call, which must succeed.
    pub async fn control(&self, call: &str, body: Value) -> Value {
        let url = format!("{}/control/{call}", self.sandbox);
        let reply = self.http.post(&url).json(&body).send().await.unwrap_or_else(|error| panic!("POST {url}: {error}"));
        let status = reply.status();
        let text = reply.text().await.unwrap_or_default();
        assert!(status.is_success(), "POST {url}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    /// The API's reply about a session.
    pub async fn verdict(&self, session_id: &str) -> (u16, Value) {
        self.get(&format!("{}/api/verdict?session_id={session_id}", self.site)).await
    }

    /// Sets the replies to the next calls to the vendor.
    pub async fn faults(&self, target: &str, replies: Value) {
        self.control("faults", json!({ "target": target, "replies": replies })).await;
    }

    /// Sets the model's next verdict.
    pub async fn next_verdict(&self, verdict: Value) {
        self.faults("gemini", json!([{ "verdict": verdict }])).await;
    }

    /// Plants a session as the payment service would return it. Returns its id.
    pub async fn plant(&self, session: &Value) -> String {
        self.control("stripe/session", session.clone()).await;
        session["id"].as_str().expect("a session has an id").to_owned()
    }

    /// Plants a sale made through a Payment Link and delivers its webhook. Returns the session's id.
    pub async fn sell_by_payment_link(&self, tier: &str, question: &str, email: &str) -> String {
        let session = payment_link_session(tier, question, email);
        let id = self.plant(&session).await;
        let event = json!({
            "id": format!("evt_{}", unique()),
            "object": "event",
            "type": "checkout.session.completed",
            "data": { "object": session },
        });
        let answer = self.control("stripe/event", event).await;
        assert_eq!(answer["status"], 200, "the webhook was refused: {answer}");
        id
    }

    /// Waits for a mail to this address.
    pub async fn mail_to(&self, email: &str) -> Value {
        eventually(&format!("a mail to {email}"), Duration::from_secs(60), async || {
            let (_, mails) = self.get(&format!("{}/control/mails", self.sandbox)).await;
            mails.as_array()?.iter().find(|mail| mail["to"].to_string().contains(email)).cloned()
        })
        .await
    }
}

/// A paid session of a Payment Link: the question is in the custom field, not in the metadata.
#[must_use]
pub fn payment_link_session(tier: &str, question: &str, email: &str) -> Value {
    let amount = match tier {
        "quick" => 100,
        "full" => 500,
        _ => 2500,
    };
    let id = unique();
    json!({
        "id": format!("cs_test_link{id}"),
        "object": "checkout.session",
        "mode": "payment",
        "status": "complete",
        "payment_status": "paid",
        "currency": "cad",
        "amount_total": amount,
        "payment_intent": format!("pi_link{id}"),
        "customer_details": { "email": email },
        "metadata": { "tier": tier },
        "custom_fields": [{ "key": "idea", "type": "text", "text": { "value": question } }],
    })
}
