//! What machines read about us: the API's description, and whom to tell of a vulnerability.

use domain::Timestamp;
use runtime::http::Reply;
use std::time::Duration;

/// The description of everything public, OpenAPI 3.1. Its lists of values are held against the types that the handlers
/// use (tests/pipeline/description.rs), its paths against the template's routes (tests/template/routes.rs), and all of it
/// against the deployed API.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// Where people read what is written to us (SECURITY.md).
const CONTACT: &str = "oracle@42sisters.ai";

/// A reader asks again after this time.
const SECURITY_TXT_HOLDS: Duration = Duration::from_secs(90 * 86_400);

pub(crate) fn openapi() -> Reply {
    Reply::json_text(200, OPENAPI.to_owned())
}

/// RFC 9116. It must say when it expires; it holds for a quarter of a year from whenever it is read.
pub(crate) fn security_txt(now: Timestamp) -> Reply {
    let expires = now.plus(SECURITY_TXT_HOLDS).to_iso();
    Reply::text(200, format!("Contact: mailto:{CONTACT}\nExpires: {expires}\nPreferred-Languages: en\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_security_researcher_learns_whom_to_tell() {
        let reply = security_txt(Timestamp::from_seconds(0));
        assert_eq!(reply.header_value("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(
            reply.body(),
            "Contact: mailto:oracle@42sisters.ai\nExpires: 1970-04-01T00:00:00.000Z\nPreferred-Languages: en\n"
        );
    }
}
