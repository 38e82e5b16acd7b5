//! An AWS server over a real connection: it sends the test's replies in order, and shows the bodies of the requests.

#![allow(dead_code, unused_imports)] // Not every test loses a reply or has a stale connection.

use serde_json::Value;
use std::iter;
use test_server::{Request, reply};

pub(crate) use test_server::nobody;

/// Status and body of a reply.
pub(crate) type Reply = (u16, String);

/// Ends the connection instead of replying.
pub(crate) const LOST: Reply = (0, String::new());

/// The server.
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) url: String,
    server: test_server::Server,
}

impl Server {
    /// Sends the first reply to the first request, and so on; 500 to further ones.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::sending(replies.into_iter().map(written).collect()).await
    }

    /// Keeps its first connection open after the first reply, and ends it without a reply at the second request; then
    /// replies as [`Self::start`] does.
    pub(crate) async fn start_closing_idle(first: Reply, replies: impl IntoIterator<Item = Reply>) -> Self {
        let (status, body) = first;
        let first = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let replies = replies.into_iter().map(written);
        Self::sending(iter::once(test_server::Reply::GoStale(first)).chain(replies).collect()).await
    }

    async fn sending(replies: Vec<test_server::Reply>) -> Self {
        let mut replies = replies.into_iter();
        let answer = move |_: &Request| replies.next().unwrap_or_else(|| reply(500, "", ""));
        let server = test_server::Server::answering(answer).await;
        Self { url: server.url.clone(), server }
    }

    /// The bodies so far, percent-decoded; of a request without a body its first line. Fails where a read of a table is
    /// not consistent.
    pub(crate) fn seen(&self) -> Vec<String> {
        let shown = |request: &Request| {
            assert_consistent(request);
            match request.text() {
                "" => request.line.clone(),
                body => decoded(body),
            }
        };
        self.server.seen().iter().map(shown).collect()
    }

    /// The value of a header in each request so far.
    pub(crate) fn headers(&self, name: &str) -> Vec<Option<String>> {
        self.server.seen().iter().map(|request| request.header(name).map(str::to_owned)).collect()
    }
}

/// An index has no consistent reads.
fn assert_consistent(request: &Request) {
    let target = request.header("x-amz-target").unwrap_or_default();
    if matches!(target.strip_prefix("DynamoDB_20120810."), Some("GetItem" | "Query" | "Scan")) {
        let read: Value = serde_json::from_str(request.text()).unwrap_or_default();
        assert!(read["IndexName"].is_string() || read["ConsistentRead"] == true, "{target}: {read}");
    }
}

fn written((status, body): Reply) -> test_server::Reply {
    if status == 0 { test_server::Reply::HangUp } else { reply(status, "", body) }
}

fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => decoded.extend([char::from(byte)].into_iter().chain(part[2..].chars())),
            None => decoded.extend(["%", part]),
        }
    }
    decoded
}
