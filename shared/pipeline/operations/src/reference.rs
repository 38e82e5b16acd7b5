//! Finds sales by their reference, the name of a sale in alerts, mails and pages.

use domain::{
    SessionId,
    open_work::Work,
    ports::{AllSales, OpenSales, StorageError},
};

/// Whether a text has the form of a reference: the last 8 characters of a session, with `-followup` for its follow-up.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    let paid = text.strip_suffix("-followup").unwrap_or(text);
    let alphabet = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    paid.len() == 8 && paid.bytes().all(alphabet) && !text.starts_with("cs_")
}

/// Finds the sales with a reference. References have no index. Open sales are searched first, because operators mostly
/// name open sales and the whole table may have millions.
///
/// # Errors
/// [`StorageError`]: the sales cannot be read.
pub async fn sales_with(
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

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Sale, Timestamp};
    use testkit::{World, run};

    #[test]
    fn a_reference_is_found_among_open_sales_and_all_others() {
        let world = World::default();
        let now = Timestamp::from_seconds(0);
        for id in ["cs_test_aaaaOPEN0001", "cs_test_bbbbDONE0001"] {
            let sale = Sale::ordered(SessionId::parse(id).unwrap(), now);
            world.state().sales.insert(sale.session_id().clone(), (sale, 1));
        }
        let find = |reference: &str| run(sales_with(&world, &world, reference)).unwrap().unwrap();
        assert_eq!(find("OPEN0001")[0].as_str(), "cs_test_aaaaOPEN0001");
        assert_eq!(find("DONE0001")[0].as_str(), "cs_test_bbbbDONE0001");
        let followup = SessionId::parse("cs_test_bbbbDONE0001").unwrap().followup();
        world.state().sales.insert(followup.clone(), (Sale::ordered(followup, now), 1));
        assert_eq!(find("DONE0001-followup")[0].as_str(), "cs_test_bbbbDONE0001-followup");
        assert_eq!(find("DONE0001").len(), 1, "the follow-up has a reference of its own");
        assert_eq!(find("NONE0001"), []);
    }
}
