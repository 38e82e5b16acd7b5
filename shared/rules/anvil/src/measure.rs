//! A measured value with exact comparison: 0.97399999999999999999 is below 0.974.

/// A decimal number in half units of 10⁻¹⁵. An odd value means that further non-zero digits were too small to keep, so
/// that a comparison with a limit of at most 15 decimals is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Measure(i64);

const DECIMALS: i32 = 15;
const ONE: i64 = 2_000_000_000_000_000;

impl Measure {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const UNIT: Self = Self(ONE);

    /// A number of thousandths.
    #[must_use]
    pub const fn thousandths(count: i64) -> Self {
        Self(count * (ONE / 1000))
    }

    /// Converts a machine's value; `None` if it is not finite.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        // The shortest decimal that parses to this value is the written one.
        Self::parse(&format!("{value:e}"))
    }

    /// Parses digits with at most one point, an optional sign and an optional exponent. Saturates on overflow.
    #[must_use]
    pub fn parse(written: &str) -> Option<Self> {
        let (negative, digits) = match written.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, written.strip_prefix('+').unwrap_or(written)),
        };
        let (mantissa, exponent) = match digits.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (digits, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        Some(Self::from_digits(whole, fraction, exponent, negative))
            .filter(|_| whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()))
    }

    fn from_digits(whole: &str, fraction: &str, exponent: i32, negative: bool) -> Self {
        // Position of the first digit of `fraction`, counted in decimals.
        let places = i64::from(DECIMALS) + i64::from(exponent);
        let kept = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(places);
        let digits = whole.bytes().chain(fraction.bytes()).map(|byte| i64::from(byte.wrapping_sub(b'0')));
        let (mut units, mut rest) = (0_i64, false);
        let mut read = 0_i64;
        for digit in digits {
            if read < kept {
                units = units.saturating_mul(10).saturating_add(digit);
            } else {
                rest |= digit != 0;
            }
            read += 1;
        }
        while read < kept && units != 0 && units != i64::MAX {
            units = units.saturating_mul(10);
            read += 1;
        }
        let halves = units.saturating_mul(2).saturating_add(i64::from(rest));
        Self(if negative { -halves } else { halves })
    }

    /// One whole number divided by another; `None` for a division by zero.
    #[must_use]
    pub fn ratio(numerator: u64, denominator: u64) -> Option<Self> {
        let scaled = i128::from(numerator) * i128::from(ONE / 2);
        let denominator = i128::from(denominator);
        let (units, rest) = (scaled.checked_div(denominator)?, scaled.checked_rem(denominator)?);
        let halves = i64::try_from(units.saturating_mul(2)).unwrap_or(i64::MAX);
        Some(Self(halves.saturating_add(i64::from(rest != 0))))
    }

    /// This number as a percentage: divided by 100.
    #[must_use]
    pub fn percent(self) -> Self {
        self.divided(100)
    }

    /// This number as a per-mille value: divided by 1000.
    #[must_use]
    pub fn permille(self) -> Self {
        self.divided(1000)
    }

    /// Divides. Rounding down and setting the odd half keep the order of exact arithmetic.
    fn divided(self, by: i64) -> Self {
        let (quotient, remainder) = (self.0.div_euclid(2 * by) * 2, self.0.rem_euclid(2 * by));
        Self(quotient + i64::from(remainder != 0))
    }

    /// Converts to a floating-point number, for output and shares.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }

    /// The two numbers at this distance below and above.
    #[must_use]
    pub(crate) const fn spread(self, by: Self) -> (Self, Self) {
        (Self(self.0.saturating_sub(by.0)), Self(self.0.saturating_add(by.0)))
    }
}

impl std::fmt::Display for Measure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let units = self.0.unsigned_abs() / 2;
        let one = ONE.unsigned_abs() / 2;
        let sign = if self.0 < 0 { "-" } else { "" };
        // In place, because an answer shows ten measures and formatting them was a third of its time.
        let (mut decimals, mut rest) = ([b'0'; DECIMALS as usize], units % one);
        for digit in decimals.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        let decimals = str::from_utf8(&decimals).unwrap_or_default().trim_end_matches('0');
        let more = if self.0 % 2 == 0 { "" } else { "…" };
        formatter.write_str(sign)?;
        match units / one {
            0 => formatter.write_str("0")?,
            whole => write!(formatter, "{whole}")?,
        }
        if decimals.is_empty() && more.is_empty() {
            return Ok(());
        }
        formatter.write_str(".")?;
        formatter.write_str(decimals)?;
        formatter.write_str(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(written: &str) -> Measure {
        Measure::parse(written).unwrap()
    }

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        for written in ["0.974", ".974", "+0.974", "0.97400", "974e-3", "9.74e-1", "00.974", "0.0974e1"] {
            assert_eq!(of(written), Measure::thousandths(974), "{written}");
        }
        assert_eq!(of("97.4").percent(), Measure::thousandths(974));
        assert_eq!(of("97.3999999999999999999").percent().cmp(&Measure::thousandths(974)), std::cmp::Ordering::Less);
        assert_eq!(Measure::ratio(19, 20), Some(Measure::thousandths(950)));
        assert!(Measure::ratio(1, 3) > Measure::parse("0.333") && Measure::ratio(1, 0).is_none());
        assert_eq!(Measure::from_f64(0.974), Some(Measure::thousandths(974)));
        assert_eq!(Measure::from_f64(f64::NAN), None);
    }

    #[test]
    fn a_digit_beyond_the_last_kept_one_still_counts() {
        assert!(of("0.973999999999999999999999999") < Measure::thousandths(974));
        assert!(of("0.150000000000000000000000001") > Measure::thousandths(150));
        assert!(of("-0.000000000000000000000001") < Measure::ZERO);
        assert!(of("1e-400") > Measure::ZERO && of("1e400") > Measure::UNIT);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for written in ["", ".", "-", "e5", "1.2.3", "0x1", "1e", "nan", "inf", "1e99999999999"] {
            assert_eq!(Measure::parse(written), None, "{written}");
        }
    }

    #[test]
    fn it_is_shown_as_people_write_it() {
        let shown: Vec<String> = ["0.08", "12", "-0.05", "0.15000000000000000001"].map(|w| of(w).to_string()).into();
        assert_eq!(shown, ["0.08", "12", "-0.05", "0.15…"]);
    }
}
