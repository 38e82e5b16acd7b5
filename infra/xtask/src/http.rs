//! The calls that commands make to a running stack: small JSON bodies over plain HTTP on this machine.

use crate::error::Error;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;
use std::time::Duration;

const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// A client that keeps paths, queries and bodies unchanged.
pub(crate) type HttpClient = Client<HttpConnector, Body>;

pub(crate) fn client() -> HttpClient {
    Client::builder(TokioExecutor::new()).build_http()
}

/// A blocking caller for commands.
pub(crate) struct Caller {
    runtime: tokio::runtime::Runtime,
    client: HttpClient,
}

impl Caller {
    /// Builds the caller's own small runtime.
    pub(crate) fn new() -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("starting the HTTP client"))?;
        Ok(Self { runtime, client: client() })
    }

    /// GET; returns any status and body.
    pub(crate) fn get(&self, url: &str) -> Result<(StatusCode, Value), Error> {
        self.exchange(Method::GET, url, None, None, "").map(|(status, value, _)| (status, value))
    }

    pub(crate) fn get_with(&self, url: &str, sent: (&str, &str)) -> Result<(StatusCode, Value), Error> {
        self.exchange(Method::GET, url, None, Some(sent), "").map(|(status, value, _)| (status, value))
    }

    /// POST with a JSON body; returns any status and body.
    pub(crate) fn post(&self, url: &str, body: &Value) -> Result<(StatusCode, Value), Error> {
        self.exchange(Method::POST, url, Some(body), None, "").map(|(status, value, _)| (status, value))
    }

    /// POST with a JSON body and a header; returns the status, the body and another header of the reply.
    pub(crate) fn post_with(
        &self,
        url: &str,
        body: &Value,
        sent: Option<(&str, &str)>,
        wanted: &str,
    ) -> Result<(StatusCode, Value, Option<String>), Error> {
        self.exchange(Method::POST, url, Some(body), sent, wanted)
    }

    fn exchange(
        &self,
        method: Method,
        url: &str,
        body: Option<&Value>,
        sent: Option<(&str, &str)>,
        wanted: &str,
    ) -> Result<(StatusCode, Value, Option<String>), Error> {
        let call = format!("{method} {url}");
        let failed = |why: String| Error::Call { call: call.clone(), why };
        let request = Request::builder().method(method).uri(url).header("content-type", "application/json");
        let request = sent.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        let request = request
            .body(body.map_or_else(Body::empty, |value| Body::from(value.to_string())))
            .map_err(|error| failed(error.to_string()))?;
        let exchange = async {
            let response = self.client.request(request).await.map_err(|error| failed(chain(&error)))?;
            let status = response.status();
            // `get` returns nothing for the empty name.
            let header = response.headers().get(wanted).and_then(|value| value.to_str().ok()).map(str::to_owned);
            let bytes = response.into_body().collect().await.map_err(|error| failed(chain(&error)))?.to_bytes();
            let value = serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
            Ok((status, value, header))
        };
        self.runtime.block_on(async {
            tokio::time::timeout(CALL_TIMEOUT, exchange)
                .await
                .unwrap_or_else(|_| Err(failed(format!("no answer within {} s", CALL_TIMEOUT.as_secs()))))
        })
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
