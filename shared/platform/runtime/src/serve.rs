//! The Lambda runtime around a handler: decodes events, calls the handler, encodes its results.

use crate::{
    http::{Reply, Request, with_repeated_headers},
    queue::{Delivery, Handled, Redelivery, each_message},
    system::System,
};
use aws_lambda_events::event::sqs::SqsEvent;
use domain::ports::{UnreadableMessages, Visibility};
use lambda_http::{Adapter, RequestExt, request::LambdaRequest};
use lambda_runtime::{Error, LambdaEvent, service_fn, tower::ServiceExt};
use serde_json::Value;
use std::future::Future;
use tracing::{Instrument, Span, info_span};

/// The span of one invocation: every log line in it has the request id, by which AWS finds it.
fn invocation(request_id: &str) -> Span {
    info_span!("invocation", request_id)
}

/// Serves a queue: calls `handle` once for each message of a batch; failed messages are reported, and hidden in
/// `queue`; unreadable ones go to `dead_letters`.
///
/// # Errors
/// When the Lambda runtime cannot be reached.
pub async fn messages<F, Fut>(
    queue: &dyn Visibility,
    dead_letters: &dyn UnreadableMessages,
    handle: F,
) -> Result<(), Error>
where
    F: Fn(Delivery) -> Fut,
    Fut: Future<Output = Handled>,
{
    let handle = &handle;
    let redelivery = Redelivery { queue, dead_letters, clock: &System, randomness: &System, meter: &System };
    let batch = |event: LambdaEvent<SqsEvent>| {
        let span = invocation(&event.context.request_id);
        async move { Ok::<_, Error>(each_message(event.payload, redelivery, handle).await) }.instrument(span)
    };
    lambda_runtime::run(service_fn(batch)).await
}

/// Serves HTTP requests of API Gateway.
///
/// # Errors
/// When the Lambda runtime cannot be reached.
pub async fn requests<F, Fut>(handle: F) -> Result<(), Error>
where
    F: Fn(Request) -> Fut + Sync,
    Fut: Future<Output = Reply> + Send,
{
    let handle = &handle;
    let reply = |request: lambda_http::Request| {
        let span = invocation(request.lambda_context_ref().map_or("", |context| &context.request_id));
        async move { Ok::<_, Error>(handle(Request::from_gateway(request)).await.into_response()) }.instrument(span)
    };
    let read = |event: LambdaEvent<LambdaRequest>| {
        let (event, context) = event.into_parts();
        LambdaEvent::new(with_repeated_headers(event), context)
    };
    lambda_runtime::run(Adapter::from(service_fn(reply)).map_request(read)).await
}

/// Serves the events of a schedule, or any other JSON.
///
/// # Errors
/// When the Lambda runtime cannot be reached. An error of `handle` fails its invocation only.
pub async fn events<F, Fut, E>(handle: F) -> Result<(), Error>
where
    F: Fn(LambdaEvent<Value>) -> Fut,
    Fut: Future<Output = Result<(), E>>,
    E: Into<Error>,
{
    let handle = &handle;
    let run = |event: LambdaEvent<Value>| {
        let span = invocation(&event.context.request_id);
        async move { handle(event).await.map_err(Into::<Error>::into) }.instrument(span)
    };
    lambda_runtime::run(service_fn(run)).await
}
