//! Stripe's reports about a payment after the sale: about one refund, one dispute, or the whole charge.

use crate::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Stripe's id of a refund (`re_…`, `pyr_…`) or of a dispute (`du_…`, `dp_…`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ObjectId(String);

crate::text_newtype::text_newtype!(ObjectId, InvalidObjectId);

/// The text is not an id of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object id is 1 to 255 letters, digits and underscores")]
pub struct InvalidObjectId;

impl ObjectId {
    /// Parses an id.
    ///
    /// # Errors
    /// [`InvalidObjectId`].
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidObjectId> {
        let text = text.into();
        let valid = (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if valid { Ok(Self(text)) } else { Err(InvalidObjectId) }
    }

    /// The placeholder for an object that was stored before ids were stored.
    #[must_use]
    pub fn unnamed() -> Self {
        Self("unnamed".to_owned())
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The status of a refund. A later status in this order follows from an earlier one, never the reverse: a refund that
/// succeeded can still bounce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundStatus {
    /// Stripe is processing it, or waits for the customer.
    Pending,
    /// The money is in transit or has arrived.
    Succeeded,
    /// It was canceled: we still have the money.
    Canceled,
    /// It did not arrive: we have the money again.
    Failed,
}

impl RefundStatus {
    /// Whether we have the money (again).
    #[must_use]
    pub const fn is_void(self) -> bool {
        matches!(self, Self::Canceled | Self::Failed)
    }
}

crate::enum_with_words! {
    /// The status of a dispute. `Warning…` is an inquiry: the bank asks, and has taken nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DisputeStatus {
        /// An inquiry that waits for our answer.
        WarningNeedsResponse = "inquiry, needs a response",
        /// An inquiry that was answered.
        WarningUnderReview = "inquiry, under review",
        /// An inquiry that ended without a dispute.
        WarningClosed = "inquiry, closed",
        /// The bank has taken the money; our evidence is missing.
        NeedsResponse = "open, needs a response",
        /// The bank has our evidence.
        UnderReview = "open, under review",
        /// Decided for us: we have the money again.
        Won = "won",
        /// Decided against us.
        Lost = "lost",
        /// The payment went back to the customer before the bank opened a dispute.
        Prevented = "prevented: the money went back",
    }
    /// The status in words, for operators.
    pub const fn words;
}

impl DisputeStatus {
    /// Its stage: an inquiry can become a dispute, and a dispute ends.
    pub(super) const fn stage(self) -> u8 {
        match self {
            Self::WarningNeedsResponse => 0,
            Self::WarningUnderReview => 1,
            Self::WarningClosed => 2,
            Self::NeedsResponse => 3,
            Self::UnderReview => 4,
            Self::Won | Self::Lost | Self::Prevented => 5,
        }
    }

    /// Whether the payment's money is taken from us.
    #[must_use]
    pub const fn takes_money(self) -> bool {
        matches!(self, Self::NeedsResponse | Self::UnderReview | Self::Lost | Self::Prevented)
    }

    /// Whether Stripe waits for our evidence.
    #[must_use]
    pub const fn awaits_answer(self) -> bool {
        matches!(self, Self::NeedsResponse | Self::WarningNeedsResponse)
    }
}

/// A report about one object of Stripe's. `at` is the time of the report, by Stripe's clock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "object", rename_all = "snake_case")]
pub enum PaymentReport {
    /// The charge: the sum of all its refunds.
    Charge {
        /// In the currency's smallest unit.
        returned: i64,
        /// Whether that is the whole charge.
        whole: bool,
        /// When it was reported.
        at: Timestamp,
    },
    /// A refund.
    Refund {
        /// Its id.
        id: ObjectId,
        /// In the currency's smallest unit.
        amount: Option<i64>,
        /// Its status.
        status: RefundStatus,
        /// When it was reported.
        at: Timestamp,
    },
    /// A dispute or an inquiry.
    Dispute {
        /// Its id.
        id: ObjectId,
        /// Its status.
        status: DisputeStatus,
        /// Stripe's deadline for our evidence.
        respond_by: Option<Timestamp>,
        /// When it was reported.
        at: Timestamp,
    },
}

impl PaymentReport {
    /// Stripe's id of the object; a charge is identified by its payment.
    #[must_use]
    pub const fn id(&self) -> Option<&ObjectId> {
        match self {
            Self::Charge { .. } => None,
            Self::Refund { id, .. } | Self::Dispute { id, .. } => Some(id),
        }
    }
}

/// The change that a report makes to a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentChange {
    /// The whole payment went back.
    Refunded,
    /// A refund was canceled, or did not arrive: we have the money again.
    RefundFailed,
    /// A part, or a further part, went back: a service to the customer, not the end of the sale.
    PartlyRefunded,
    /// The customer's bank asks about the payment.
    InquiryOpened,
    /// The bank has our answer to its inquiry.
    InquiryAnswered,
    /// The inquiry ended without a dispute.
    InquiryClosed,
    /// The customer's bank has opened a dispute.
    DisputeOpened,
    /// The bank has our evidence.
    DisputeAnswered,
    /// The dispute was decided for us.
    DisputeWon,
    /// The dispute was decided against us.
    DisputeLost,
    /// The payment went back to the customer before there was a dispute.
    DisputePrevented,
    /// Stripe set another deadline for our evidence.
    DeadlineChanged,
}

/// A change in the form that was stored and queued before objects were stored by id.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EarlierChange {
    Refunded,
    RefundFailed,
    PartlyRefunded,
    DisputeOpened,
    DisputeWon,
    DisputeLost,
}

impl From<EarlierChange> for PaymentReport {
    fn from(earlier: EarlierChange) -> Self {
        let at = Timestamp::from_seconds(0);
        let dispute = |status| Self::Dispute { id: ObjectId::unnamed(), status, respond_by: None, at };
        match earlier {
            EarlierChange::Refunded => Self::Charge { returned: 0, whole: true, at },
            EarlierChange::PartlyRefunded => Self::Charge { returned: 0, whole: false, at },
            EarlierChange::RefundFailed => {
                Self::Refund { id: ObjectId::unnamed(), amount: None, status: RefundStatus::Failed, at }
            }
            EarlierChange::DisputeOpened => dispute(DisputeStatus::NeedsResponse),
            EarlierChange::DisputeWon => dispute(DisputeStatus::Won),
            EarlierChange::DisputeLost => dispute(DisputeStatus::Lost),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Report(PaymentReport),
    Earlier(EarlierChange),
}

/// Reads a report, or the word that earlier messages have in its place.
///
/// # Errors
/// The deserializer's.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PaymentReport, D::Error> {
    Ok(match Stored::deserialize(deserializer)? {
        Stored::Report(report) => report,
        Stored::Earlier(earlier) => earlier.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_id_has_letters_digits_and_underscores() {
        let (longest, too_long) = ("r".repeat(255), "r".repeat(256));
        for text in ["re_1Abc", "r", longest.as_str()] {
            assert_eq!(ObjectId::parse(text).map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "re-1", "re 1", "ré", too_long.as_str()] {
            assert_eq!(ObjectId::parse(text), Err(InvalidObjectId), "{text:?}");
            assert!(serde_json::from_value::<ObjectId>(json!(text)).is_err());
        }
    }

    #[test]
    fn a_status_says_who_has_the_money_and_who_is_to_answer() {
        use DisputeStatus as Dispute;
        assert_eq!(
            [RefundStatus::Pending, RefundStatus::Succeeded, RefundStatus::Canceled, RefundStatus::Failed]
                .map(RefundStatus::is_void),
            [false, false, true, true]
        );
        for (status, stage, takes_money, awaits_answer) in [
            (Dispute::WarningNeedsResponse, 0, false, true),
            (Dispute::WarningUnderReview, 1, false, false),
            (Dispute::WarningClosed, 2, false, false),
            (Dispute::NeedsResponse, 3, true, true),
            (Dispute::UnderReview, 4, true, false),
            (Dispute::Won, 5, false, false),
            (Dispute::Lost, 5, true, false),
            (Dispute::Prevented, 5, true, false),
        ] {
            let found = (status.stage(), status.takes_money(), status.awaits_answer());
            assert_eq!(found, (stage, takes_money, awaits_answer), "{status:?}");
        }
    }

    #[test]
    fn the_words_of_earlier_messages_are_read_as_reports() {
        let read = |stored: serde_json::Value| deserialize(stored).unwrap();
        let at = Timestamp::from_seconds(0);
        assert_eq!(read(json!("refunded")), PaymentReport::Charge { returned: 0, whole: true, at });
        assert_eq!(read(json!("partly_refunded")), PaymentReport::Charge { returned: 0, whole: false, at });
        let failed = PaymentReport::Refund { id: ObjectId::unnamed(), amount: None, status: RefundStatus::Failed, at };
        assert_eq!(read(json!("refund_failed")), failed);
        for (word, status) in [
            ("dispute_opened", DisputeStatus::NeedsResponse),
            ("dispute_won", DisputeStatus::Won),
            ("dispute_lost", DisputeStatus::Lost),
        ] {
            let dispute = PaymentReport::Dispute { id: ObjectId::unnamed(), status, respond_by: None, at };
            assert_eq!(read(json!(word)), dispute);
            assert_eq!(dispute.id(), Some(&ObjectId::unnamed()));
        }
        assert_eq!(read(serde_json::to_value(&failed).unwrap()), failed);
        assert!(deserialize(json!("inquired")).is_err());
    }
}
