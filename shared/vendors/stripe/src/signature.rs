//! The `Stripe-Signature` header of a webhook (Product Tiers, invariant 2; FM-2).

use domain::{Secret, Timestamp};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The largest difference between the signature's time and ours, in seconds, in either direction. Stripe's own
/// libraries accept any time in the future; we do not, because a replay with a wrong clock is no better than an old
/// one.
pub const TOLERANCE_SECONDS: u64 = 300;

/// The longest header that is parsed, in bytes: room for fifty signatures; Stripe sends one or two.
pub const MAX_HEADER_BYTES: usize = 4096;

/// Why a webhook does not count as Stripe's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// There is no secret to check with.
    #[error("no webhook secret is configured")]
    NoSecret,
    /// It is longer than [`MAX_HEADER_BYTES`].
    #[error("the signature header is too long")]
    TooLong,
    /// An item of the header is not `name=value`.
    #[error("the signature header is malformed")]
    Malformed,
    /// There is no `t`.
    #[error("the signature header has no timestamp")]
    MissingTimestamp,
    /// There is more than one `t`.
    #[error("the signature header has more than one timestamp")]
    DuplicateTimestamp,
    /// `t` is not a number of seconds.
    #[error("the signature header's timestamp is not a number")]
    InvalidTimestamp,
    /// There is no `v1`.
    #[error("the signature header has no v1 signature")]
    MissingSignature,
    /// No `v1` is 64 hexadecimal digits.
    #[error("no v1 signature is 64 hexadecimal digits")]
    NotHexadecimal,
    /// No `v1` is the body's signature under any secret.
    #[error("no signature matches")]
    Mismatch,
    /// The signature is valid, but more than [`TOLERANCE_SECONDS`] too old or too new.
    #[error("the signature's timestamp is outside the tolerance")]
    OutsideTolerance,
}

struct Header<'a> {
    /// The text of the timestamp, because the text is part of the signed bytes.
    timestamp: &'a str,
    seconds: i64,
    signatures: Vec<[u8; 32]>,
}

fn parse(header: &str) -> Result<Header<'_>, SignatureError> {
    if header.len() > MAX_HEADER_BYTES {
        return Err(SignatureError::TooLong);
    }
    let mut timestamp = None;
    let mut signatures = Vec::new();
    let mut unreadable = false;
    for item in header.split(',') {
        match item.trim().split_once('=').ok_or(SignatureError::Malformed)? {
            ("t", _) if timestamp.is_some() => return Err(SignatureError::DuplicateTimestamp),
            ("t", value) => timestamp = Some(value),
            ("v1", value) => {
                let mut signature = [0; 32];
                match hex::decode_to_slice(value, &mut signature) {
                    Ok(()) => signatures.push(signature),
                    // Another one may match.
                    Err(_) => unreadable = true,
                }
            }
            // v0 is Stripe's scheme for test events, and other schemes may follow: none of them proves anything.
            _ => {}
        }
    }
    let timestamp = timestamp.ok_or(SignatureError::MissingTimestamp)?;
    let digits = !timestamp.is_empty() && timestamp.bytes().all(|b| b.is_ascii_digit());
    let seconds = timestamp.parse().ok().filter(|_| digits).ok_or(SignatureError::InvalidTimestamp)?;
    if signatures.is_empty() {
        return Err(if unreadable { SignatureError::NotHexadecimal } else { SignatureError::MissingSignature });
    }
    Ok(Header { timestamp, seconds, signatures })
}

/// The keyed hash of `{timestamp}.{body}`; `None` for an empty secret, with which anyone could sign.
fn mac(secret: &Secret, timestamp: &str, raw_body: &[u8]) -> Option<Hmac<Sha256>> {
    let key = Some(secret.expose().as_bytes()).filter(|key| !key.is_empty())?;
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(raw_body);
    Some(mac)
}

/// Verifies that Stripe signed `raw_body`, byte for byte, at about `now`. While a secret is being rotated there are
/// several signatures and several secrets: any matching pair is enough. Signatures are compared in constant time.
///
/// # Errors
/// [`SignatureError`], one variant per reason.
pub fn verify(header: &str, raw_body: &[u8], secrets: &[Secret], now: Timestamp) -> Result<(), SignatureError> {
    if secrets.iter().all(|secret| secret.expose().is_empty()) {
        return Err(SignatureError::NoSecret);
    }
    let header = parse(header)?;
    let matches = secrets
        .iter()
        .filter_map(|secret| mac(secret, header.timestamp, raw_body))
        .any(|mac| header.signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok()));
    if !matches {
        return Err(SignatureError::Mismatch);
    }
    if now.as_seconds().abs_diff(header.seconds) > TOLERANCE_SECONDS {
        return Err(SignatureError::OutsideTolerance);
    }
    Ok(())
}

/// The header that Stripe would send with `raw_body`; for tests and simulated vendors. An empty secret signs nothing.
#[doc(hidden)]
#[must_use]
pub fn sign(secret: &Secret, raw_body: &[u8], at: Timestamp) -> String {
    let timestamp = at.as_seconds().to_string();
    let signature = mac(secret, &timestamp, raw_body).map(|mac| hex::encode(mac.finalize().into_bytes()));
    format!("t={timestamp},v1={}", signature.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BODY: &[u8] = br#"{"id":"evt_1","object":"event"}"#;
    const V1: &str = "f89a2a4014c9df11f36d753566bac36ac27e41903e7d63d7545a08667a12da68";
    const AT: i64 = 1_763_596_800;

    fn secrets(values: &[&str]) -> Vec<Secret> {
        values.iter().map(|value| Secret::new(*value)).collect()
    }

    fn check(header: &str, now: i64) -> Result<(), SignatureError> {
        verify(header, BODY, &secrets(&["whsec_test_secret"]), Timestamp::from_seconds(now))
    }

    #[test]
    fn the_published_vector_verifies() {
        let header = format!("t={AT},v1={V1}");
        assert_eq!(sign(&Secret::new("whsec_test_secret"), BODY, Timestamp::from_seconds(AT)), header);
        assert_eq!(check(&header, AT), Ok(()));
    }

    #[test]
    fn any_signature_and_any_secret_may_match() {
        let other = "0".repeat(64);
        for header in [
            format!("t={AT},v1={other},v1={V1}"),
            format!("t={AT},v1={V1},v1={other}"),
            format!("v1={other},v1={V1},v0={other},t={AT}"),
            format!("t={AT}, v1={}, v0=not-hex, v2=", V1.to_uppercase()),
            format!("t={AT},v1=deadbeef,v1={V1},v1=é"),
        ] {
            assert_eq!(check(&header, AT), Ok(()), "{header}");
        }
        let header = format!("t={AT},v1={V1}");
        let now = Timestamp::from_seconds(AT);
        assert_eq!(verify(&header, BODY, &secrets(&["whsec_new", "whsec_test_secret"]), now), Ok(()));
        assert_eq!(verify(&header, BODY, &secrets(&["whsec_test_secret", "whsec_new"]), now), Ok(()));
        assert_eq!(verify(&header, BODY, &secrets(&["whsec_new"]), now), Err(SignatureError::Mismatch));
    }

    #[test]
    fn three_hundred_seconds_in_both_directions() {
        let header = format!("t={AT},v1={V1}");
        for now in [AT - 300, AT + 300] {
            assert_eq!(check(&header, now), Ok(()), "{now}");
        }
        for now in [i64::MIN / 1000, 0, AT - 301, AT + 301, i64::MAX / 1000] {
            assert_eq!(check(&header, now), Err(SignatureError::OutsideTolerance), "{now}");
        }
    }

    #[test]
    fn an_empty_secret_never_signs_or_verifies() {
        let mut forged = Hmac::<Sha256>::new_from_slice(b"").unwrap();
        forged.update(format!("{AT}.").as_bytes());
        forged.update(BODY);
        let header = format!("t={AT},v1={}", hex::encode(forged.finalize().into_bytes()));
        let now = Timestamp::from_seconds(AT);
        for none in [&[][..], &[""], &["", ""]] {
            assert_eq!(verify(&header, BODY, &secrets(none), now), Err(SignatureError::NoSecret));
        }
        assert_eq!(verify(&header, BODY, &secrets(&["", "whsec_x"]), now), Err(SignatureError::Mismatch));
    }

    #[test]
    fn every_defect_has_its_own_error() {
        use SignatureError::*;
        let long = format!("t={AT},v1={V1},v0={}", "0".repeat(MAX_HEADER_BYTES));
        for (header, error) in [
            ("", Malformed),
            ("garbage", Malformed),
            (&format!("t={AT},v1={V1},"), Malformed),
            (&format!("v1={V1}"), MissingTimestamp),
            (&format!("T={AT},v1={V1}"), MissingTimestamp),
            (&format!("t={AT},t={AT},v1={V1}"), DuplicateTimestamp),
            (&format!("t=,v1={V1}"), InvalidTimestamp),
            (&format!("t=+{AT},v1={V1}"), InvalidTimestamp),
            (&format!("t=-{AT},v1={V1}"), InvalidTimestamp),
            (&format!("t=99999999999999999999,v1={V1}"), InvalidTimestamp),
            (&format!("t={AT}"), MissingSignature),
            (&format!("t={AT},v0={V1}"), MissingSignature),
            (&format!("t={AT},v1="), NotHexadecimal),
            (&format!("t={AT},v1={}", &V1[..63]), NotHexadecimal),
            (&format!("t={AT},v1={V1}00"), NotHexadecimal),
            (&format!("t={AT},v1={}g", &V1[..63]), NotHexadecimal),
            (&format!("t={AT},v1=é,v1=deadbeef"), NotHexadecimal),
            (&format!("t={},v1={V1}", AT + 1), Mismatch),
            (&format!("t=0{AT},v1={V1}"), Mismatch),
            (&long, TooLong),
        ] {
            assert_eq!(check(header, AT), Err(error), "{header}");
        }
    }

    proptest! {
        #[test]
        fn what_was_signed_verifies_and_nothing_else_does(
            secret in "[!-~]{1,80}",
            body in prop::collection::vec(any::<u8>(), 1..500),
            at in 0..4_000_000_000_i64,
            flip in any::<prop::sample::Index>(),
            bit in 0..8_u8,
        ) {
            let now = Timestamp::from_seconds(at);
            let secret = Secret::new(secret);
            let header = sign(&secret, &body, now);
            let trusted = [secret];
            prop_assert_eq!(verify(&header, &body, &trusted, now), Ok(()));
            let mut changed = body;
            let at = flip.index(changed.len());
            changed[at] ^= 1 << bit;
            prop_assert_eq!(verify(&header, &changed, &trusted, now), Err(SignatureError::Mismatch));
        }

        #[test]
        fn no_header_makes_it_panic_or_pass(header in "(?s).{0,300}|(t|v1|v0|,|=|[0-9a-f]){0,100}") {
            prop_assert!(check(&header, AT).is_err());
        }
    }
}
