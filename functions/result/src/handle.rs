//! Routes each path to its page or reply.

use crate::{Ports, agents, followup, health, machine_documents, pages, retrieve};
use domain::{Metric, SessionId};
use runtime::http::{Reply, Request};

/// Handles one request.
pub async fn handle(ports: Ports<'_>, request: Request) -> Reply {
    match request.path() {
        "/" => html(200, pages::front()),
        "/oracle/result" => html(200, pages::result()),
        "/chat" => html(200, pages::chat()),
        "/agents" => html(200, &agents::page(ports.site, ports.sells_on)),
        "/llms.txt" => Reply::text(200, agents::llms_txt(ports.site, ports.sells_on)),
        "/openapi.json" => machine_documents::openapi(),
        "/.well-known/security.txt" => machine_documents::security_txt(ports.contact, ports.journal.clock.now()),
        "/health" => health::health(ports.notes, ports.journal.clock, attestation::AUTHORITY.state).await,
        "/api/verdict" => counted(ports, retrieve::retrieve(ports, &request).await),
        // The gateway sends GET of any path here.
        "/api/followup" if request.method() == "POST" => counted(ports, followup::order(ports, request.body()).await),
        path if path.starts_with("/api/") => Reply::error(404, "not_found", "There is nothing at this address."),
        path => redirect(path).unwrap_or_else(|| html(404, pages::not_found())),
    }
}

/// Counts a reply that says that a request in order could not be served.
fn counted(ports: Ports<'_>, reply: Reply) -> Reply {
    if reply.status() == 503 {
        ports.meter.record(&[Metric::ResultUnavailable.once()], ports.journal.clock.now());
    }
    reply
}

/// Redirects `/result/ID`, the short form of the result page's address (Product Tiers, cache entry). The page finds out
/// whether there is such a session.
fn redirect(path: &str) -> Option<Reply> {
    let id = SessionId::parse(path.strip_prefix("/result/")?).ok()?;
    let id = id.as_str();
    let is_from_stripe = ["cs_live_", "cs_test_"].into_iter().any(|mode| id.len() > mode.len() && id.starts_with(mode));
    is_from_stripe.then(|| Reply::redirect(format!("/oracle/result?session_id={id}")))
}

fn html(status: u16, page: &pages::Page) -> Reply {
    Reply::html(status, &page.html, &page.content_security_policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_link_of_every_session_leads_to_its_page() {
        for (path, location) in [
            ("/result/cs_test_1", Some("/oracle/result?session_id=cs_test_1")),
            ("/result/cs_live_a-b_c", Some("/oracle/result?session_id=cs_live_a-b_c")),
            ("/result/cs_test_", None),
            ("/result/cs_link_1", None),
            ("/result/nonsense", None),
            ("/result/cs_test_1/more", None),
            ("/cs_test_1", None),
        ] {
            let reply = redirect(path);
            assert_eq!(reply.as_ref().and_then(|reply| reply.header_value("location")), location, "{path}");
        }
    }
}
