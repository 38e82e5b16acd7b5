//! The two constants of the crosscheck (TMM Crosscheck, invariants 1 and 2). They are defined only here and cannot be
//! passed in or configured.

/// Φ, the weight of an inconsistency.
pub const PHI: f64 = 0.042;

/// Ω, the approval threshold: 1 − Φ / 1.61803398875 ≈ 0.97404.
pub const OMEGA: f64 = 1.0 - PHI / 1.618_033_988_75;
