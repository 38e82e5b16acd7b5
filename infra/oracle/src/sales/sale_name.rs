//! Names of sales in commands: a Stripe session, or the reference that alerts, mails and pages show.

use domain::SessionId;
use operations::reference::{is_reference, sales_with};

use crate::{
    command::{CommandError, OrFailed, session, wait},
    stack::Deployed,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SaleName {
    Session(SessionId),
    Reference(String),
}

/// Parses a session or a reference. A reference is the last 8 characters of a session, with `-followup` for its
/// follow-up.
pub(crate) fn parse(text: &str) -> Result<SaleName, String> {
    if is_reference(text) {
        return Ok(SaleName::Reference(text.to_owned()));
    }
    session(text).map(SaleName::Session)
}

impl SaleName {
    /// The sale's session.
    pub(crate) fn find(&self, deployed: &Deployed) -> Result<SessionId, CommandError> {
        match self {
            Self::Session(session) => Ok(session.clone()),
            Self::Reference(reference) => wait(async {
                let found = sales_with(&deployed.stores.sales, &deployed.stores.sales, reference).await;
                one_of(reference, found.or_failed("the sales cannot be read")?)
            }),
        }
    }
}

fn one_of(reference: &str, found: Vec<SessionId>) -> Result<SessionId, CommandError> {
    match found.as_slice() {
        [] => Err(CommandError::Refused(format!("no sale has the reference {reference}"))),
        [one] => Ok(one.clone()),
        several => {
            let ids: Vec<&str> = several.iter().map(SessionId::as_str).collect();
            Err(CommandError::Refused(format!("several sales have the reference {reference}: {}", ids.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sale_is_named_by_its_session_or_its_reference() {
        assert_eq!(parse("c3D4e5F6"), Ok(SaleName::Reference("c3D4e5F6".to_owned())));
        assert_eq!(parse("c3D4e5F6-followup"), Ok(SaleName::Reference("c3D4e5F6-followup".to_owned())));
        assert!(matches!(parse("cs_test_a1B2c3D4e5F6"), Ok(SaleName::Session(_))));
        assert!(matches!(parse("cs_test_a1B2c3D4e5F6-followup"), Ok(SaleName::Session(id)) if id.is_followup()));
        assert!(parse("c3D4e5F").is_err() && parse("c3D4e5F6x").is_err() && parse("c3D4.5F6").is_err());
    }

    #[test]
    fn a_reference_names_one_sale() {
        let ids = |ids: &[&str]| ids.iter().map(|id| SessionId::parse(*id).unwrap()).collect();
        assert_eq!(one_of("x", ids(&["cs_1"])).unwrap().as_str(), "cs_1");
        assert!(one_of("x", ids(&[])).is_err() && one_of("x", ids(&["cs_1", "cs_2"])).is_err());
    }
}
