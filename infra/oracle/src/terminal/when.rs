//! Parses times as operators write them.

use std::time::Duration;

use domain::Timestamp;

use crate::command::CommandError;

/// Parses a day, a time, or a duration before now: `2026-11-20`, `2026-11-20T10:00:00Z`, `90m`, `24h`, `3d`.
pub(crate) fn parse(text: &str, now: Timestamp) -> Result<Timestamp, CommandError> {
    ago(text, now).or_else(|| moment(text)).ok_or_else(|| {
        let what = format!("{text:?} is not a time: give 2026-11-20, 2026-11-20T10:00:00Z, 90m, 24h or 3d");
        CommandError::Usage(what)
    })
}

fn ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let seconds = match text.chars().last()? {
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    let count: u64 = text.get(..text.len() - 1)?.parse().ok()?;
    let ago = Duration::from_secs(count.checked_mul(seconds)?);
    Some(Timestamp::from_millis(now.as_millis().checked_sub(i64::try_from(ago.as_millis()).ok()?)?))
}

/// Parses a day or a time: `2026-11-20`, `2026-11-20T10:00:00Z`.
pub(crate) fn moment(text: &str) -> Option<Timestamp> {
    let whole = if text.contains('T') { text.to_owned() } else { format!("{text}T00:00:00Z") };
    Timestamp::parse(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_moments_and_spans_are_read() {
        let now = Timestamp::from_seconds(1_800_000_000);
        let read = |text: &str| parse(text, now).ok().map(|moment| moment.to_iso());
        assert_eq!(read("2026-11-20").as_deref(), Some("2026-11-20T00:00:00.000Z"));
        assert_eq!(read("2026-11-20T10:00:00+02:00").as_deref(), Some("2026-11-20T08:00:00.000Z"));
        assert_eq!(read("90m").as_deref(), Some("2027-01-15T06:30:00.000Z"));
        assert_eq!(read("3d").as_deref(), Some("2027-01-12T08:00:00.000Z"));
        for text in ["", "d", "-1d", "yesterday", "2026-13-01", "99999999999999999999d", "1é"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
