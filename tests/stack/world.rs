//! A test's access to the stack, and to its sales; the modules below have a customer's actions, the records and the
//! vendors.

mod customer;
mod records;
mod vendors;

use crate::aws::Aws;
use futures_util::future::select_all;
use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tests::{SOON, Stack, eventually, payment_link_session, poll, unique};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A message that finds another worker's lease waits for its end, so a queue is empty only after all leases have ended.
const LEASES: Duration = Duration::from_secs(240);

/// How long a test that runs alone waits for the functions of earlier tests.
const IDLE: Duration = Duration::from_secs(10);

/// The stack's outputs with the addresses of the queues.
const QUEUES: [&str; 5] =
    ["OrdersQueueUrl", "EmailQueueUrl", "EmailRetryQueueUrl", "NoticesQueueUrl", "PaymentsQueueUrl"];

/// A word in every question of these tests and in no other text: a place that contains it has leaked a question.
pub(crate) const CANARY: &str = "lighthouse";

/// The domain of every address of these tests, for the same purpose.
pub(crate) const MAIL_DOMAIN: &str = "@customers.example.com";

/// The running stacks, each with the lock of the tests that run on it.
static STACKS: LazyLock<Vec<(PathBuf, RwLock<()>)>> =
    LazyLock::new(|| Stack::files().into_iter().map(|file| (file, RwLock::new(()))).collect());

/// The number of tests that did not ask to run alone; they take the stacks in turns.
static BESIDE: AtomicUsize = AtomicUsize::new(0);

enum Turn {
    Beside { _turn: RwLockReadGuard<'static, ()> },
    Alone { _turn: RwLockWriteGuard<'static, ()> },
}

/// The stack, for the time of one test.
pub(crate) struct World {
    pub(crate) stack: Stack,
    pub(crate) aws: Aws,
    http: reqwest::Client,
    _turn: Turn,
}

/// A reply of the site.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// One sale, with what its buyer knows.
pub(crate) struct Sale {
    pub(crate) session: String,
    pub(crate) question: String,
    pub(crate) email: String,
}

impl Reply {
    /// The body as JSON; null if it is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// Fails unless the reply has this status, and names its reason for programs.
    #[track_caller]
    pub(crate) fn assert_code(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.json()["code"].as_str()), (status, Some(code)), "{}", self.text);
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a header of ASCII"))
    }
}

impl Sale {
    /// The unique part of the question.
    pub(crate) fn mark(&self) -> &str {
        self.question.rsplit(' ').next().expect("a question has words")
    }
}

/// A unique question.
pub(crate) fn question() -> String {
    format!("Should I rent out the {CANARY} on my land? {}", unique())
}

/// A sale through a Payment Link of which only Stripe knows, and its session there.
pub(crate) fn by_link(tier: &str) -> (Sale, Value) {
    let (question, email) = (question(), email());
    let object = payment_link_session(tier, &question, &email);
    let session = object["id"].as_str().expect("a session has an id").to_owned();
    (Sale { session, question, email }, object)
}

/// A unique address.
pub(crate) fn email() -> String {
    format!("buyer-{}{MAIL_DOMAIN}", unique())
}

impl World {
    fn new(file: &Path, turn: Turn) -> Self {
        let stack = Stack::of(file);
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        Self { aws: Aws::of(&stack), http: http.expect("an HTTP client"), stack, _turn: turn }
    }

    /// Access for a test that plans no faults; other such tests run at the same time.
    pub(crate) async fn beside_others() -> Self {
        let (file, turn) = &STACKS[BESIDE.fetch_add(1, Ordering::Relaxed) % STACKS.len()];
        Self::new(file, Turn::Beside { _turn: turn.read().await })
    }

    /// Exclusive access to the first stack that is free, with an empty sandbox, empty queues, closed circuits and no open
    /// work at the start.
    pub(crate) async fn alone() -> Self {
        let waiting = STACKS.iter().map(|(file, turn)| Box::pin(async move { (file, turn.write().await) }));
        let ((file, turn), ..) = select_all(waiting).await;
        let world = Self::new(file, Turn::Alone { _turn: turn });
        // Ends the calls that an earlier test left hanging, and further webhooks, so that its functions end.
        world.stack.control("reset", json!({})).await;
        // A message that waits for a lease keeps its queue filled; it is removed below.
        let _ = poll(IDLE, async || world.is_idle().await.then_some(())).await;
        for queue in QUEUES {
            world.aws.purge(queue).await;
        }
        world.aws.forget_storms().await;
        world.aws.forget_open_work().await;
        world.aws.close_circuits().await;
        world.stack.control("reset", json!({})).await;
        // A test that failed may have left these as it changed them.
        let secret = &world.stack.description["stripe_webhook_secret"];
        let settings = json!({ "webhook_secret": secret, "draft_lag_ms": 0, "sent_items_lag_ms": 0 });
        world.stack.control("configure", settings).await;
        world
    }

    /// Whether no function works on a message.
    async fn is_idle(&self) -> bool {
        for queue in QUEUES {
            if self.aws.held(queue).await > 0 {
                return false;
            }
        }
        true
    }

    /// One request to the site.
    pub(crate) async fn call(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Reply {
        let url = format!("{}{path}", self.stack.site);
        let mut request = self.http.request(method, &url).header("content-type", "application/json").body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let reply = request.send().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        let text = reply.text().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        Reply { status, headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, &[], Vec::new()).await
    }

    pub(crate) async fn checkout(&self, body: impl Into<Vec<u8>>) -> Reply {
        self.call(Method::POST, "/api/checkout", &[], body.into()).await
    }

    pub(crate) async fn verdict(&self, session: &str) -> Reply {
        self.get(&format!("/api/verdict?session_id={session}")).await
    }

    /// Delivers an event about an object of Stripe, which must be accepted.
    pub(crate) async fn tell(&self, kind: &str, object: &Value) {
        let event = json!({ "type": kind, "data": { "object": object } });
        let answer = self.stack.control("stripe/event", event).await;
        assert_eq!(answer["status"], 200, "{kind}: {answer}");
    }

    /// The sale's record once the condition holds for it.
    pub(crate) async fn until(&self, session: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("{what}: {session}"), SOON, async || {
            let sale = self.aws.document(session, "SALE").await?;
            holds(&sale).then_some(sale)
        })
        .await
    }

    /// The reply of GET /api/verdict once it is no longer pending.
    pub(crate) async fn answered(&self, session: &str) -> Reply {
        eventually(&format!("an end of {session}"), SOON, async || {
            let reply = self.verdict(session).await;
            (reply.json()["status"] != "pending").then_some(reply)
        })
        .await
    }

    /// The sale's record once no work is left for it.
    pub(crate) async fn settled(&self, session: &str) -> Value {
        eventually(&format!("the sale {session} to be settled"), SOON, async || {
            let sale = self.aws.document(session, "SALE").await?;
            let settled = match sale["fulfilment"]["state"].as_str()? {
                "ready" => {
                    let mail = sale["mail"]["state"].as_str()?;
                    sale["fulfilment"]["archived"] == true
                        && ["sent", "no_address", "held", "dead", "unknown"].contains(&mail)
                }
                state => ["in_review", "failed", "unusable"].contains(&state),
            };
            settled.then_some(sale)
        })
        .await
    }

    /// The page's reply for a delivered sale, once its mail is sent too.
    pub(crate) async fn delivered(&self, sale: &Sale) -> Value {
        let reply = self.answered(&sale.session).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        let settled = self.settled(&sale.session).await;
        assert_eq!(settled["mail"]["state"], "sent", "{settled}");
        reply.json()
    }

    /// Waits until the queues are empty: all messages are processed, and none has caused later work. Only for tests
    /// that run alone.
    pub(crate) async fn drained(&self) {
        for queue in QUEUES {
            eventually(&format!("{queue} to be empty"), LEASES, async || {
                (self.aws.held(queue).await == 0).then_some(())
            })
            .await;
        }
    }

    /// Makes a sale look as if nothing had happened to it for days, because a test cannot let time pass.
    pub(crate) async fn as_if_long_ago(&self, session: &str) {
        self.aws
            .change_sale(session, |item, sale| {
                sale["changed_at"] = json!(1);
                sale["fulfilment"]["at"] = json!(1);
                if sale["mail"]["due"].is_number() {
                    sale["mail"]["due"] = json!(1);
                }
                item.insert("due".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N("2".to_owned()));
            })
            .await;
    }
}
