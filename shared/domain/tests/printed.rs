//! Texts in logs and records and for operators: the names of states, and the printed form of values that must not be
//! printed.

#![allow(clippy::unwrap_used, reason = "fixtures of tests")]

use domain::{
    Colour, EmailAddress, ErrorCode, Query, Secret, SessionId, Tier,
    audit_trail::StateId,
    chat::{ExchangeId, Message, SubscriberId, Voice},
    money::DisputeStatus,
    open_work::Work,
    ports::{MemoryRecord, SubjectKey},
    retry::RetryTable,
    sale::NotPaid,
    toll::Offer,
};

#[test]
fn a_value_that_must_not_be_printed_shows_its_kind_or_its_size() {
    let record = MemoryRecord { seq: 7, prev: [0; 32], hash: [1; 32], body: vec![2; 5] };
    let printed = [
        format!("{:?}", Secret::new("sk_live_1")),
        format!("{:?}", EmailAddress::parse("someone@example.com").unwrap()),
        format!("{:?}", Query::parse("Should I?").unwrap()),
        format!("{:?}", Message::parse("Should I?").unwrap()),
        format!("{:?}", SubjectKey([3; 32])),
        format!("{record:?}"),
    ];
    let expected = [
        "Secret(…)",
        "EmailAddress(…)",
        "Query(9 bytes)",
        "Message(9 bytes)",
        "SubjectKey(…)",
        "MemoryRecord { seq: 7, bytes: 5, .. }",
    ];
    assert_eq!(printed, expected);
}

#[test]
fn states_have_the_names_of_the_records_and_lists() {
    assert_eq!(
        Work::ALL.map(Work::as_str).join(" "),
        "refund in_flight refund_failed dispute erasure review declined reply unusable failed owed not_paid dead_letter \
         unknown_mail finding"
    );
    assert_eq!(
        [ErrorCode::Contended, ErrorCode::PaymentRefused, ErrorCode::NoSale].map(ErrorCode::as_str),
        ["contended", "payment_refused", "no_sale"]
    );
    assert_eq!(
        [Voice::Aether, Voice::FirstView, Voice::SecondView].map(Voice::name),
        ["AETHER", "first view", "second view"]
    );
    assert_eq!(DisputeStatus::NeedsResponse.words(), "open, needs a response");
    assert_eq!(NotPaid::Free.words(), "completed without a payment");
    assert_eq!(
        Tier::ALL.map(|tier| (tier.to_string(), tier.has_strategy())),
        [("quick".to_owned(), false), ("full".to_owned(), false), ("strategy".to_owned(), true)]
    );
    assert_eq!(
        ["GREEN", "AMBER", "RED", "NULL"].map(|word| Colour::parse(word).unwrap().word()),
        ["GREEN", "AMBER", "RED", "NULL"]
    );
    assert_eq!([Colour::parse("green"), Colour::parse("")], [None, None]);
}

#[test]
fn ids_of_stored_states_are_read_as_they_were_written() {
    let session: SessionId = StateId::read("cs_test_1").unwrap();
    assert_eq!((StateId::text(&session), StateId::reference(&session)), ("cs_test_1", session.reference()));
    let digits = "ab".repeat(32);
    let subscriber: SubscriberId = StateId::read(&digits).unwrap();
    assert_eq!((StateId::text(&subscriber), StateId::reference(&subscriber)), (digits.as_str(), &digits[..12]));
    assert!(<SubscriberId as StateId>::read("ab").is_none());
    let uuid = "0A0B0C0D-0000-4000-8000-000000000001";
    assert_eq!(ExchangeId::parse(uuid).unwrap().as_str(), uuid.to_ascii_lowercase());
    for text in [
        "0a0b0c0d-0000-4000-8000-00000000000g",
        "0a0b0c0d-0000-4000-8000-0000000000012",
        "0a0b0c0d00004000800000000000001",
        "",
    ] {
        assert!(ExchangeId::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_longest_texts_and_tables_are_accepted() {
    assert!(Query::parse("ä".repeat(20_000)).is_ok() && Query::parse("ä".repeat(20_001)).is_err());
    assert!(Message::parse(&"ä".repeat(4_000)).is_ok() && Message::parse(&"ä".repeat(4_001)).is_err());
    assert!(Message::parse("a\tb\r\nc").is_ok() && Message::parse("a\u{7}b").is_err());
    let table = |waits: usize| RetryTable::parse(&vec!["1"; waits].join(","));
    assert!(table(20).is_ok() && table(21).is_err());
    assert_eq!(Offer::ALL.map(Offer::longest), [4_000, 4_000, 4_000, 20_000]);
    assert!(Offer::ALL.iter().all(|offer| offer.description().starts_with("A verdict")));
}
