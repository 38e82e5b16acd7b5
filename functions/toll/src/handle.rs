//! Routes each request to its endpoint.

use crate::{Ports, Settings, mcp, request, request_body::MAX_BODY_BYTES};
use runtime::http::{Reply, Request};

/// Handles one request.
pub async fn handle(ports: Ports<'_>, settings: &Settings, request: Request) -> Reply {
    if request.body().len() > MAX_BODY_BYTES {
        return Reply::error(413, "too_large", "The request is larger than 256 KiB.");
    }
    match request.path() {
        mcp::PATH => mcp::answer(ports, settings, &request).await,
        _ => request::sell(ports, settings, request).await,
    }
}
