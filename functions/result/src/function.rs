//! From HTTP requests to pages and [`retrieve`], and back.

use crate::{Ports, health, pages, retrieve};
use audit::Journal;
use aws::{Connection, DynamoSales, S3Archive, S3AuditLog, S3Quarantine, SecretDocument, SnsAlerts, SqsQueue};
use domain::SessionId;
use lambda_http::{Body, Request, RequestExt, Response};
use runtime::{Environment, System, http::Reply};
use std::{error::Error, sync::Arc};

/// The result function of one process.
pub struct Function {
    sales: DynamoSales,
    log: S3AuditLog,
    archive: S3Archive,
    quarantine: S3Quarantine,
    orders: SqsQueue,
    notices: SqsQueue,
    alerts: SnsAlerts,
    payments: stripe::LazyClient,
}

impl Function {
    /// Reads and validates the configuration.
    ///
    /// # Errors
    /// One that names the variable that is missing or malformed.
    pub fn from_environment(environment: &Environment) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let connection = Connection::from_environment(|name| environment.optional(name))?;
        let required = |name| environment.required(name);
        let system = Arc::new(System);
        let secret = SecretDocument::new(connection.clone(), required("STRIPE_SECRET_ID")?);
        Ok(Self {
            sales: DynamoSales::new(connection.clone(), required("TABLE_NAME")?, system.clone()),
            log: S3AuditLog::new(connection.clone(), required("AUDIT_BUCKET")?),
            archive: S3Archive::new(connection.clone(), required("ARCHIVE_BUCKET")?),
            quarantine: S3Quarantine::new(connection.clone(), required("QUARANTINE_BUCKET")?),
            orders: SqsQueue::new(connection.clone(), required("ORDERS_QUEUE_URL")?),
            notices: SqsQueue::new(connection.clone(), required("NOTICES_QUEUE_URL")?),
            alerts: SnsAlerts::new(connection, required("OPS_TOPIC_ARN")?, required("CRITICAL_TOPIC_ARN")?),
            payments: stripe::LazyClient::new(
                environment.base_url("STRIPE_BASE_URL", stripe::BASE_URL)?,
                environment.base_url("SITE_URL", "")?,
                Arc::new(secret),
                system.clone(),
                system,
            ),
        })
    }

    /// Handles one request.
    pub async fn handle(&self, request: Request) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let path = path.strip_prefix(&stage_prefix(&request)).unwrap_or(&path);
        let reply = match path {
            "/" => html(200, pages::front()),
            "/oracle/result" => html(200, pages::result()),
            "/health" => health(&self.sales, &System).await,
            "/api/verdict" => {
                let query = request.query_string_parameters();
                retrieve(self.ports(), query.first("session_id")).await
            }
            _ if path.starts_with("/api/") => Reply::error(404, "not_found", "There is nothing at this address."),
            _ => redirect(path).unwrap_or_else(|| html(404, pages::not_found())),
        };
        reply.into_response()
    }

    const fn ports(&self) -> Ports<'_> {
        Ports {
            journal: Journal { store: &self.sales, log: &self.log, alerts: &self.alerts, clock: &System },
            archive: &self.archive,
            quarantine: &self.quarantine,
            payments: &self.payments,
            orders: &self.orders,
            notices: &self.notices,
        }
    }
}

/// Without a custom domain the stage stands before every path.
fn stage_prefix(request: &Request) -> String {
    match request.request_context_ref() {
        Some(lambda_http::request::RequestContext::ApiGatewayV1(context)) => {
            context.stage.as_ref().map_or_else(String::new, |stage| format!("/{stage}"))
        }
        _ => String::new(),
    }
}

/// `/result/ID` is the short form of the result page's address (Product Tiers, cache entry).
fn redirect(path: &str) -> Option<Reply> {
    let id = SessionId::parse(path.strip_prefix("/result/")?).ok()?;
    Some(Reply::redirect(format!("/oracle/result?session_id={}", id.as_str())))
}

fn html(status: u16, page: &pages::Page) -> Reply {
    Reply::html(status, &page.html, &page.content_security_policy)
}
