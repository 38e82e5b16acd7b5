//! The body of a reply: whole, or as server-sent events at their pace.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::{http::Events, state::Shared};

/// A connection that is closed without a reply.
#[derive(Debug, thiserror::Error)]
#[error("connection cut on purpose")]
pub(crate) struct Cut;

/// The signals that a stream of events waits for.
pub(crate) struct Watch {
    resets: watch::Receiver<u64>,
    releases: watch::Receiver<u64>,
}

impl Watch {
    pub(crate) fn of(shared: &Shared) -> Self {
        Self { resets: shared.watch_resets(), releases: shared.watch_releases() }
    }
}

/// The body of a reply.
pub(crate) enum Sent {
    Whole(Full<Bytes>),
    Events(mpsc::UnboundedReceiver<Result<Frame<Bytes>, Cut>>),
}

impl Sent {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Full::new(bytes.into()))
    }

    pub(crate) fn events(events: Events, watch: Watch) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(send(events, watch, sender));
        Self::Events(receiver)
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match &mut *self {
            Self::Whole(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
            Self::Events(frames) => frames.poll_recv(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// Sends the events until the stream ends or the client disconnects.
async fn send(Events { events, pace }: Events, mut watch: Watch, to: mpsc::UnboundedSender<Result<Frame<Bytes>, Cut>>) {
    for number in 0..=events.len() {
        if pace.hold_after == Some(number) {
            tokio::select! {
                _ = watch.releases.changed() => {}
                _ = watch.resets.changed() => {}
            }
        }
        if pace.break_after == Some(number) {
            return drop(to.send(Err(Cut)));
        }
        if pace.hang_after == Some(number) {
            tokio::select! {
                _ = watch.resets.changed() => {}
                () = to.closed() => {}
            }
            return drop(to.send(Err(Cut)));
        }
        let is_failed = pace.error_after == Some(number);
        let text = if is_failed {
            let failed =
                json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
            // Gemini sends it outside of the events, in several lines and without a line break at the end.
            format!("{failed:#}")
        } else {
            let Some(event) = events.get(number) else { return };
            format!("data: {event}\r\n\r\n")
        };
        if number > 0 {
            tokio::time::sleep(Duration::from_millis(pace.delay_ms)).await;
        }
        if to.send(Ok(Frame::data(text.into()))).is_err() || is_failed {
            return;
        }
    }
}
