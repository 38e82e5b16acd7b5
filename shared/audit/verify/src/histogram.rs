//! Quantiles in constant memory, with a bounded relative error.
//!
//! Bucket i counts the values in (γ^(i-1), γ^i] with γ = (1 + a) / (1 - a), and returns 2γ^i / (γ + 1) for all of them:
//! this differs from each value in the bucket by at most the share a of that value. Zero has a bucket of its own.

/// The relative error a: 0.01.
pub const RELATIVE_ERROR: f64 = 0.01;

const GAMMA: f64 = (1.0 + RELATIVE_ERROR) / (1.0 - RELATIVE_ERROR);

/// Counts of values, in at most 2,220 buckets for any number of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    zeros: u64,
    /// Bucket i at index i: the value 1 is in bucket 0.
    buckets: Vec<u64>,
    count: u64,
    greatest: u64,
}

impl Histogram {
    /// Counts a value.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the logarithm of a whole number from 1 is between 0 and 2,219, and an approximation anyway"
    )]
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.greatest = self.greatest.max(value);
        if value == 0 {
            self.zeros += 1;
            return;
        }
        let bucket = ((value as f64).ln() / GAMMA.ln()).ceil() as usize;
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
    }

    /// The number of values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The greatest value, exactly.
    #[must_use]
    pub const fn greatest(&self) -> u64 {
        self.greatest
    }

    /// The smallest value that at least `per_cent` (1 to 100) of all values do not exceed, up to the relative error and
    /// the rounding to a whole number; `None` without values.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a bucket's number is small, and what it stands for is not negative"
    )]
    pub fn quantile(&self, per_cent: u64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = self.count.saturating_mul(per_cent).div_ceil(100).max(1);
        let mut passed = self.zeros;
        if passed >= rank {
            return Some(0);
        }
        for (bucket, count) in self.buckets.iter().enumerate() {
            passed += count;
            if passed >= rank {
                let value = 2.0 * GAMMA.powf(bucket as f64) / (GAMMA + 1.0);
                return Some((value.round() as u64).min(self.greatest));
            }
        }
        Some(self.greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_values_are_themselves() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(50), None);
        for value in [0, 1, 2, 3] {
            histogram.add(value);
        }
        let quantiles = [1, 25, 26, 50, 75, 99, 100].map(|per_cent| histogram.quantile(per_cent));
        assert_eq!(quantiles, [0, 0, 1, 1, 2, 3, 3].map(Some));
        assert_eq!((histogram.count(), histogram.greatest()), (4, 3));
    }

    #[test]
    fn the_greatest_number_has_a_bucket() {
        let mut histogram = Histogram::default();
        histogram.add(u64::MAX);
        assert!(histogram.buckets.len() <= 2_220, "{}", histogram.buckets.len());
        assert!(histogram.quantile(99).unwrap() > u64::MAX / 100 * 98);
    }

    proptest! {
        #[test]
        fn no_quantile_is_further_off_than_promised(
            mut values in prop::collection::vec(prop_oneof![0_u64..50, 0_u64..100_000, 0_u64..10_000_000_000], 1..300),
            per_cent in 1_u64..=100,
        ) {
            let mut histogram = Histogram::default();
            for value in &values {
                histogram.add(*value);
            }
            values.sort_unstable();
            let rank = (values.len() * per_cent as usize).div_ceil(100).max(1);
            let exact = values[rank - 1] as f64;
            let estimate = histogram.quantile(per_cent).unwrap() as f64;
            // Half a unit is for the rounding; the millionth is for the logarithm.
            let allowed = exact * (RELATIVE_ERROR + 1e-6) + 0.5;
            prop_assert!((estimate - exact).abs() <= allowed, "{estimate} for {exact}");
        }
    }
}
