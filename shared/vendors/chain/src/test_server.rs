//! A server for the tests of the clients.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Makes a call with the address of a server. `answer` gets the text of each request, and returns the status, further
/// lines of the head, and the body.
pub(crate) async fn with_server<T>(
    answer: impl Fn(&str) -> (u16, String, String),
    call: impl AsyncFnOnce(String) -> T,
) -> T {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::select! {
        result = call(url) => result,
        () = serve(&listener, answer) => unreachable!("it serves until the call ends"),
    }
}

async fn serve(listener: &TcpListener, answer: impl Fn(&str) -> (u16, String, String)) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (status, lines, body) = answer(&request(&mut stream).await);
        let head = format!("HTTP/1.1 {status} X\r\n{lines}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    }
}

/// Reads a request until its body has the length that its head says.
async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::<u8>::with_capacity(4096);
    loop {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the request is cut off");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() == length.map_or(0, |digits| digits.parse().unwrap()) {
            return text;
        }
    }
}
