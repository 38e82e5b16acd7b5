//! The front door: one local port before the API's stage, like a custom domain on AWS.
//!
//! It forwards path, query, headers and body unchanged and adds nothing; hop-by-hop headers end here, as at any proxy.

use crate::http::{HttpClient, chain, client};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::State,
    http::{HeaderMap, HeaderName, Request, Response, StatusCode, Uri, header},
    response::IntoResponse,
};

/// API Gateway's limit for a request body, in bytes.
const BODY_LIMIT: usize = 10 * 1024 * 1024;

const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

#[derive(Clone)]
struct Door {
    client: HttpClient,
    /// The address of the stage's root, without a trailing slash.
    stage: String,
}

/// The router that forwards everything to the stage.
pub(crate) fn router(stage: String) -> Router {
    Router::new().fallback(forward).with_state(Door { client: client(), stage })
}

async fn forward(State(door): State<Door>, request: Request<Body>) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, BODY_LIMIT).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "request body over 10 MiB\n").into_response();
    };
    let path_and_query = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let Ok(uri) = format!("{}{path_and_query}", door.stage).parse::<Uri>() else {
        return (StatusCode::BAD_REQUEST, "unreadable path\n").into_response();
    };
    parts.uri = uri;
    remove_hop_by_hop(&mut parts.headers);
    match door.client.request(Request::from_parts(parts, Body::from(bytes))).await {
        Ok(response) => {
            let (mut parts, body) = response.into_parts();
            remove_hop_by_hop(&mut parts.headers);
            Response::from_parts(parts, Body::new(body))
        }
        Err(error) => {
            (StatusCode::BAD_GATEWAY, format!("the local API does not answer: {}\n", chain(&error))).into_response()
        }
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    headers.remove("keep-alive");
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{extract::RawQuery, http::Method, routing::any};

    async fn echo(
        method: Method,
        uri: Uri,
        RawQuery(query): RawQuery,
        headers: HeaderMap,
        body: axum::body::Bytes,
    ) -> Response<Body> {
        let mut reply = Response::new(Body::from(body));
        let seen = format!("{method} {} {}", uri.path(), query.unwrap_or_default());
        if let (Ok(seen), Ok(names)) =
            (seen.parse(), headers.keys().map(HeaderName::as_str).collect::<Vec<_>>().join(",").parse())
        {
            reply.headers_mut().insert("seen", seen);
            reply.headers_mut().insert("names", names);
        }
        reply
    }

    #[tokio::test]
    async fn passes_path_query_and_body_on_byte_for_byte_and_adds_nothing() -> Result<(), Box<dyn std::error::Error>> {
        let upstream = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let stage = format!("http://{}/stage", upstream.local_addr()?);
        tokio::spawn(async move { axum::serve(upstream, Router::new().fallback(any(echo))).await });
        let door = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = door.local_addr()?;
        tokio::spawn(async move { axum::serve(door, router(stage)).await });

        let body: Vec<u8> = (0..=255).collect();
        let request = Request::post(format!("http://{address}/a/../b%2Fc//d?x=%20+y&x=&z"))
            .header("stripe-signature", "t=1,v1=a,v1=b")
            .header("te", "trailers")
            .body(Body::from(body.clone()))?;
        let reply = client().request(request).await?;
        assert_eq!(reply.headers()["seen"], "POST /stage/a/../b%2Fc//d x=%20+y&x=&z");
        let mut names: Vec<&str> = reply.headers()["names"].to_str()?.split(',').collect();
        names.sort_unstable();
        assert_eq!(names, ["content-length", "host", "stripe-signature"]);
        assert_eq!(to_bytes(Body::new(reply.into_body()), BODY_LIMIT).await?.to_vec(), body);
        Ok(())
    }
}
