//! A vendor's server over a real connection: it sends the test's replies byte for byte, records the requests, and can
//! hang or hang up. One connection at a time, one request per connection.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::missing_panics_doc)]

use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The server's reply to one request.
pub enum Reply {
    /// Writes this and closes the connection.
    Bytes(String),
    /// Closes the connection without a reply.
    HangUp,
    /// Never replies. From here on time is paused, so it advances when all tasks wait: no real waiting.
    Hang,
    /// Writes this and then hangs, with time paused.
    HangAfter(String),
}

/// A reply with a JSON body.
pub fn json(status: u16, body: impl std::fmt::Display) -> Reply {
    json_with(status, "", body)
}

/// A reply with a JSON body and further header lines, each ended by CR LF.
pub fn json_with(status: u16, headers: &str, body: impl std::fmt::Display) -> Reply {
    let body = body.to_string();
    Reply::Bytes(format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}Connection: close\r\n\r\n{body}",
        body.len()
    ))
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method, target and version.
    pub line: String,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Request {
    /// The value of a header, if it is there exactly once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(header, _)| header == name);
        let value = found.next()?.1.as_str();
        assert!(found.next().is_none(), "{name} is there twice");
        Some(value)
    }
}

/// The server.
pub struct Server {
    /// Where it listens.
    pub url: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Sends the first reply to the first request, and so on; 599 to further ones.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut replies: Vec<_> = replies.into_iter().collect();
        replies.reverse();
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let Some(request) = read(&mut stream).await else { continue };
                log.lock().unwrap().push(request);
                answer(stream, replies.pop().unwrap_or_else(|| json(599, "{}"))).await;
            }
        });
        Self { url, seen }
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

/// An address that accepts no connection.
pub async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
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
    let text = String::from_utf8(bytes[..head].to_vec()).unwrap();
    let mut lines = text.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<_> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { line, headers, body: String::from_utf8(body).unwrap() })
}

async fn answer(mut stream: TcpStream, reply: Reply) {
    match reply {
        Reply::Bytes(bytes) => {
            // A client that has read enough may have closed the connection before everything is written.
            let _ = stream.write_all(bytes.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        Reply::HangUp => {}
        Reply::Hang => hang(stream).await,
        Reply::HangAfter(bytes) => {
            stream.write_all(bytes.as_bytes()).await.unwrap();
            hang(stream).await;
        }
    }
}

/// Waits until the client closes the connection.
async fn hang(mut stream: TcpStream) {
    tokio::time::pause();
    let _ = stream.read_u8().await;
}
