//! Server-sent events, of which Gemini uses only the `data` field. A call that fails after the stream has begun ends it
//! with a bare JSON object in several lines, which is no event.

/// Splits a body into the data of its events, and what is outside of them.
#[derive(Default)]
pub(crate) struct Events {
    /// The line that has not ended.
    line: Vec<u8>,
    /// The data of the event that has not ended.
    data: Vec<u8>,
    /// The other lines, from one that begins an object on.
    rest: Vec<u8>,
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
            } else if line.starts_with(b"{") || !self.rest.is_empty() {
                self.rest.append(&mut line);
            }
        }
        ended
    }

    /// What the whole body has outside of its events, if it is an object. Its last line may have no end.
    pub(crate) fn rest(mut self) -> Vec<u8> {
        self.rest.append(&mut self.line);
        self.rest
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
            assert_eq!(events.rest(), b"", "a comment, and fields");
        }
    }

    #[test]
    fn an_object_outside_of_the_events_is_the_rest() {
        let error = "{\n  \"error\": {\n    \"code\": 503\n  }\n}";
        let line = error.replace('\n', "");
        for body in [format!("data: 1\r\n\r\n{error}"), format!(": comment\ndata: 1\n\n{error}\n"), line.clone()] {
            for size in 1..=body.len() {
                let mut events = Events::default();
                let found: usize = body.as_bytes().chunks(size).map(|chunk| events.feed(chunk).len()).sum();
                assert_eq!(found, usize::from(body.contains("data")));
                assert_eq!(events.rest(), line.as_bytes(), "pieces of {size}");
            }
        }
    }
}
