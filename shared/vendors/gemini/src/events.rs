//! Server-sent events, of which Gemini uses only the `data` field.

/// Splits a body into the data of its events.
#[derive(Default)]
pub(crate) struct Events {
    /// The line that has not ended.
    line: Vec<u8>,
    /// The data of the event that has not ended.
    data: Vec<u8>,
}

impl Events {
    /// Takes the next bytes. Returns the data of the events that end in them.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut ended = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let mut line = std::mem::take(&mut self.line);
            line.pop_if(|last| *last == b'\r');
            if let Some(data) = line.strip_prefix(b"data:") {
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            } else if line.is_empty() && !self.data.is_empty() {
                ended.push(std::mem::take(&mut self.data));
            }
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let body = "data: {\"a\":\"é\"}\r\n\r\n: comment\nevent: x\ndata:{\"b\":\ndata: 2}\n\n\n\ndata: unfinished\n"
            .as_bytes();
        let expected = ["{\"a\":\"é\"}", "{\"b\":2}"].map(|data| data.as_bytes().to_vec());
        for size in 1..=body.len() {
            let mut events = Events::default();
            let found: Vec<_> = body.chunks(size).flat_map(|chunk| events.feed(chunk)).collect();
            assert_eq!(found, expected, "pieces of {size}");
        }
    }
}
