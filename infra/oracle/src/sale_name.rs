//! Names of sales in commands: a Stripe session, or the reference that alerts, mails and pages show.

use domain::{
    SessionId,
    open_work::Work,
    ports::{AllSales, OpenSales, StorageError},
};

use crate::{
    command::{CommandError, session, wait},
    stack::Deployed,
};

/// A parsed name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SaleName {
    Session(SessionId),
    Reference(String),
}

/// Parses a session or a reference. A reference is the last 8 characters of a session, with `-followup` for its
/// follow-up.
pub(crate) fn parse(text: &str) -> Result<SaleName, String> {
    let paid = text.strip_suffix("-followup").unwrap_or(text);
    let is_reference = paid.len() == 8 && paid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if is_reference && !text.starts_with("cs_") {
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
                let found = by_reference(&deployed.sales, &deployed.sales, reference).await;
                one_of(reference, found.map_err(|error| CommandError::failed("the sales cannot be read", error))?)
            }),
        }
    }
}

/// Finds the sales with a reference. References have no index. Open sales are searched first, because operators mostly
/// name open sales and the whole table may have millions.
async fn by_reference(
    open: &dyn OpenSales,
    all: &dyn AllSales,
    reference: &str,
) -> Result<Vec<SessionId>, StorageError> {
    for work in Work::ALL {
        let mut from: Option<String> = None;
        loop {
            let page = open.open(work, None, from.as_deref()).await?;
            if let Some(found) = page.sessions.into_iter().find(|id| id.reference() == reference) {
                return Ok(vec![found]);
            }
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    let (mut found, mut from) = (Vec::new(), None::<String>);
    loop {
        let page = all.all(from.as_deref()).await?;
        let ids = page.sales.iter().map(|sale| sale.session_id());
        found.extend(ids.filter(|id| id.reference() == reference).cloned());
        from = page.next;
        if from.is_none() {
            return Ok(found);
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
    use domain::{Sale, Timestamp};
    use testkit::{World, run};

    #[test]
    fn a_sale_is_named_by_its_session_or_its_reference() {
        assert_eq!(parse("c3D4e5F6"), Ok(SaleName::Reference("c3D4e5F6".to_owned())));
        assert_eq!(parse("c3D4e5F6-followup"), Ok(SaleName::Reference("c3D4e5F6-followup".to_owned())));
        assert!(matches!(parse("cs_test_a1B2c3D4e5F6"), Ok(SaleName::Session(_))));
        assert!(matches!(parse("cs_test_a1B2c3D4e5F6-followup"), Ok(SaleName::Session(id)) if id.is_followup()));
        assert!(parse("c3D4e5F").is_err() && parse("c3D4e5F6x").is_err() && parse("c3D4.5F6").is_err());
    }

    #[test]
    fn a_reference_is_found_among_open_sales_and_all_others() {
        let world = World::default();
        let now = Timestamp::from_seconds(0);
        for id in ["cs_test_aaaaOPEN0001", "cs_test_bbbbDONE0001"] {
            let sale = Sale::ordered(SessionId::parse(id).unwrap(), now);
            world.state().sales.insert(sale.session_id().clone(), (sale, 1));
        }
        let find = |reference: &str| run(by_reference(&world, &world, reference)).unwrap().unwrap();
        assert_eq!(find("OPEN0001")[0].as_str(), "cs_test_aaaaOPEN0001");
        assert_eq!(find("DONE0001")[0].as_str(), "cs_test_bbbbDONE0001");
        let followup = SessionId::parse("cs_test_bbbbDONE0001").unwrap().followup();
        world.state().sales.insert(followup.clone(), (Sale::ordered(followup, now), 1));
        assert_eq!(find("DONE0001-followup")[0].as_str(), "cs_test_bbbbDONE0001-followup");
        assert_eq!(find("DONE0001").len(), 1, "the follow-up has a reference of its own");
        assert!(one_of("NONE0001", find("NONE0001")).is_err());
        assert!(one_of("x", vec![SessionId::parse("cs_1").unwrap(), SessionId::parse("cs_2").unwrap()]).is_err());
    }
}
