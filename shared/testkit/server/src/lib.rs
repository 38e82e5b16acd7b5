//! An HTTP server for the tests of clients, over a real connection: it sends the test's replies byte for byte, records
//! the requests, and can hang or hang up. One connection at a time, one request per connection.

#![allow(clippy::unwrap_used, reason = "a test fails where its server does")]

use std::{
    fmt::Display,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The server's reply to one request.
pub enum Reply {
    /// Writes this and closes the connection.
    Bytes(Vec<u8>),
    /// Closes the connection without a reply.
    HangUp,
    /// Never replies. From here on time is paused, so it advances when all tasks wait: no real waiting.
    Hang,
    /// Writes this and then hangs, with time paused.
    HangAfter(String),
    /// Writes the head and then this part each second until the client closes the connection, with time paused.
    Drip {
        /// The status, the headers and the first bytes of the body.
        head: String,
        /// The bytes of each second.
        part: String,
    },
    /// Writes this, and closes the connection without a reply at its next request, as a service does that closes an
    /// idle connection while a request is on its way.
    GoStale(String),
}

/// A reply with further header lines, each ended by CR LF.
pub fn reply(status: u16, headers: &str, body: impl Display) -> Reply {
    let body = body.to_string();
    let length = body.len();
    Reply::Bytes(
        format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").into(),
    )
}

/// A reply with a JSON body.
pub fn json(status: u16, body: impl Display) -> Reply {
    json_with(status, "", body)
}

/// A reply with a JSON body and further header lines, each ended by CR LF.
pub fn json_with(status: u16, headers: &str, body: impl Display) -> Reply {
    reply(status, &format!("Content-Type: application/json\r\n{headers}"), body)
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method, target and version.
    pub line: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, if it is there exactly once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(header, _)| header == name);
        let value = found.next()?.1.as_str();
        assert!(found.next().is_none(), "{name} is there twice");
        Some(value)
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// A server that runs until its test ends.
pub struct Server {
    /// Where it listens.
    pub url: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Sends the first reply to the first request, and so on; 599 to further ones.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies = replies.into_iter().collect::<Vec<_>>().into_iter();
        Self::answering(move |_| replies.next().unwrap_or_else(|| json(599, "{}"))).await
    }

    /// Sends what `answer` makes of each request.
    pub async fn answering(answer: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        let (listener, url) = listening().await;
        let seen = Arc::default();
        tokio::spawn(serve(listener, Arc::clone(&seen), answer));
        Self { url, seen }
    }

    /// The requests so far.
    #[must_use]
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

/// Makes a call with the address of a server, which sends what `answer` makes of each request until the call ends.
pub async fn with_server<T>(answer: impl FnMut(&Request) -> Reply, call: impl AsyncFnOnce(String) -> T) -> T {
    let (listener, url) = listening().await;
    tokio::select! {
        result = call(url) => result,
        () = serve(listener, Arc::default(), answer) => unreachable!("it serves until the call ends"),
    }
}

/// An address that accepts no connection.
pub async fn nobody() -> String {
    listening().await.1
}

async fn listening() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

async fn serve(listener: TcpListener, seen: Arc<Mutex<Vec<Request>>>, mut answer: impl FnMut(&Request) -> Reply) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let Some(request) = read(&mut stream).await else { continue };
        let reply = answer(&request);
        seen.lock().unwrap().push(request);
        send(stream, reply, &seen).await;
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = bytes.split_off(head + 4);
    let text = String::from_utf8(bytes).unwrap();
    let mut lines = text.trim_end().split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<_> = lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { line, headers, body })
}

async fn send(mut stream: TcpStream, reply: Reply, seen: &Mutex<Vec<Request>>) {
    match reply {
        Reply::Bytes(bytes) => {
            // A client that has read enough may have closed the connection before everything is written.
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::HangUp => {}
        Reply::Hang => hang(stream).await,
        Reply::HangAfter(text) => {
            stream.write_all(text.as_bytes()).await.unwrap();
            hang(stream).await;
        }
        Reply::Drip { head, part } => {
            tokio::time::pause();
            let mut next = &head;
            while stream.write_all(next.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
                next = &part;
            }
        }
        Reply::GoStale(text) => {
            stream.write_all(text.as_bytes()).await.unwrap();
            let next = read(&mut stream).await;
            seen.lock().unwrap().extend(next);
        }
    }
}

/// Waits until the client closes the connection.
async fn hang(mut stream: TcpStream) {
    tokio::time::pause();
    let _ = stream.read_u8().await;
}
