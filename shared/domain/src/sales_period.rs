//! The sessions that this stack sells. Several stacks may share one Stripe account, one after the other: after a move to
//! another region, or after the loss of one.

use crate::Timestamp;

/// The creation times of the sessions that this stack sells. A session outside of them that has no sale here is another
/// stack's. One that has a sale here is handled whenever it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SalesPeriod {
    /// From this time on (`SALES_FROM`); `None` for all earlier ones.
    pub from: Option<Timestamp>,
    /// Before this time (`SALES_UNTIL`); `None` for all later ones.
    pub until: Option<Timestamp>,
}

impl SalesPeriod {
    /// Every session of the account.
    pub const ALL: Self = Self { from: None, until: None };

    /// Whether a session that was created then is sold here. In doubt it is: a verdict too many does less harm than none.
    #[must_use]
    pub fn includes(&self, created: Option<Timestamp>) -> bool {
        created.is_none_or(|created| {
            self.from.is_none_or(|from| from <= created) && self.until.is_none_or(|until| created < until)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_included_and_the_end_is_not() {
        let at = |seconds| Some(Timestamp::from_seconds(seconds));
        let period = SalesPeriod { from: at(10), until: at(20) };
        let included: Vec<i64> = (8..22).filter(|second| period.includes(at(*second))).collect();
        assert_eq!(included, (10..20).collect::<Vec<_>>());
        assert!(period.includes(None) && SalesPeriod::ALL.includes(at(0)));
    }
}
