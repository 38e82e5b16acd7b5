//! An AWS server over a real connection: it sends the test's replies in order, and records the requests. One connection
//! at a time, one request per connection.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Status and body of a reply.
pub(crate) type Reply = (u16, String);

/// Ends the connection instead of replying.
#[allow(dead_code)] // Not every test loses a reply.
pub(crate) const LOST: Reply = (0, String::new());

/// The server.
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Sends the first reply to the first request, and so on; 500 to further ones.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let replies = replies.into_iter().collect::<Vec<_>>();
        tokio::spawn(Self::serve(listener, replies, Arc::clone(&seen)));
        Self { url, seen }
    }

    /// Keeps its first connection open after the first reply, and ends it without a reply at the second request, as a
    /// service does that closes an idle connection while a request is on its way; then replies as [`Self::start`] does.
    #[allow(dead_code)] // Not every test has a stale connection.
    pub(crate) async fn start_closing_idle(first: Reply, replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let replies = replies.into_iter().collect::<Vec<_>>();
        let log = Arc::clone(&seen);
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read(&mut stream).await;
            log.lock().unwrap().extend(request);
            let head = format!("HTTP/1.1 {} X\r\nContent-Length: {}\r\n\r\n", first.0, first.1.len());
            stream.write_all((head + &first.1).as_bytes()).await.unwrap();
            let request = read(&mut stream).await;
            log.lock().unwrap().extend(request);
            drop(stream);
            Self::serve(listener, replies, log).await;
        });
        Self { url, seen }
    }

    async fn serve(listener: TcpListener, replies: Vec<Reply>, log: Arc<Mutex<Vec<String>>>) {
        let mut replies = replies.into_iter();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let Some(request) = read(&mut stream).await else { continue };
            log.lock().unwrap().push(request);
            let (status, body) = replies.next().unwrap_or((500, String::new()));
            if status == 0 {
                continue;
            }
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all((head + &body).as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    }

    /// The bodies so far, percent-decoded; of a request without a body its first line.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// An address that accepts no connection.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn read(stream: &mut TcpStream) -> Option<String> {
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
    let asked = text.lines().next().unwrap_or_default().to_owned();
    let text = text.to_ascii_lowercase();
    let length = text.split("\r\n").find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    if body.is_empty() {
        return Some(asked);
    }
    Some(decoded(&String::from_utf8(body).unwrap()))
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
