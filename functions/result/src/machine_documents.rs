//! Documents for machines: the description of the API, and the contact for reports of vulnerabilities.

use domain::{EmailAddress, Timestamp};
use runtime::http::Reply;
use std::time::Duration;

/// The OpenAPI 3.1 description of every public path. Tests compare its lists of values with the types that the handlers
/// use (tests/pipeline/description.rs), its paths with the template's routes (tests/template/routes.rs), and all of it
/// with the deployed API.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// How long a copy of security.txt is valid.
const SECURITY_TXT_HOLDS: Duration = Duration::from_secs(90 * 86_400);

pub(crate) fn openapi() -> Reply {
    Reply::json_text(200, OPENAPI.to_owned())
}

/// RFC 9116. The document must state when it expires: 90 days after it is read. The contact is the deployment's mailbox,
/// which people read.
pub(crate) fn security_txt(contact: &EmailAddress, now: Timestamp) -> Reply {
    let expires = now.plus(SECURITY_TXT_HOLDS).to_iso();
    let contact = contact.expose();
    Reply::text(200, format!("Contact: mailto:{contact}\nExpires: {expires}\nPreferred-Languages: en\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_security_researcher_learns_whom_to_tell() {
        let contact = EmailAddress::parse("oracle@example.com").unwrap();
        let reply = security_txt(&contact, Timestamp::from_seconds(0));
        assert_eq!(reply.header_value("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(
            reply.body(),
            "Contact: mailto:oracle@example.com\nExpires: 1970-04-01T00:00:00.000Z\nPreferred-Languages: en\n"
        );
    }
}
