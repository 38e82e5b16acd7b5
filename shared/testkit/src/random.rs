//! The randomness of a seed: SplitMix64, so that the same seed draws the same numbers on every machine.

/// A stream of numbers.
#[derive(Clone, Debug, Default)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream `stream` of a seed: streams of one seed are independent, so that drawing more from one of them
    /// changes nothing in the others.
    #[must_use]
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to, not including, `bound`; 0 when the bound is 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        let drawn = self.next();
        if bound == 0 { 0 } else { drawn % bound }
    }

    /// From `least` to `most`, both included.
    pub fn between(&mut self, least: i64, most: i64) -> i64 {
        let span = u64::try_from(most.saturating_sub(least)).unwrap_or(0).saturating_add(1);
        least.saturating_add(i64::try_from(self.below(span)).unwrap_or(0))
    }

    /// True in `thousandths` of 1,000 cases.
    pub const fn chance(&mut self, thousandths: u64) -> bool {
        self.below(1000) < thousandths
    }

    /// One of a list, if there is one.
    pub fn pick<T: Clone>(&mut self, among: &[T]) -> Option<T> {
        let at = usize::try_from(self.below(among.len() as u64)).unwrap_or(0);
        among.get(at).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference values of SplitMix64 for the state 0.
    #[test]
    fn draws_what_splitmix64_draws() {
        let mut random = Random::seeded(0);
        assert_eq!([random.next(), random.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn streams_of_a_seed_differ_and_stay_in_their_bounds() {
        let (mut one, mut other) = (Random::new(7, 1), Random::new(7, 2));
        assert_ne!(one.next(), other.next());
        assert!((0..1000).all(|_| (3..=5).contains(&one.between(3, 5))));
        assert_eq!(one.below(0), 0);
    }
}
