//! The five kernels and their thresholds, defined in one place.

use crate::measure::Measure;
use serde::{Deserialize, Serialize};

/// One of the five figures that measure whether a system is sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the kernels are the specification's words")]
pub enum Kernel {
    PhiZeta,
    PsiChi,
    DeltaGamma,
    OmegaQ,
    LambdaC,
}

/// The side of the threshold on which a kernel is sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// At the threshold or above.
    AtLeast(Measure),
    /// At the threshold or below.
    AtMost(Measure),
}

impl Bound {
    /// The threshold.
    #[must_use]
    pub const fn limit(self) -> Measure {
        match self {
            Self::AtLeast(limit) | Self::AtMost(limit) => limit,
        }
    }

    /// Whether a value is on the sound side.
    #[must_use]
    pub fn admits(self, value: Measure) -> bool {
        match self {
            Self::AtLeast(limit) => value >= limit,
            Self::AtMost(limit) => value <= limit,
        }
    }

    /// The used part of the way from the best value (1 or 0) to the threshold: 1 at the threshold.
    #[must_use]
    pub fn load(self, value: Measure) -> f64 {
        match self {
            Self::AtLeast(limit) => (1.0 - value.to_f64()) / (1.0 - limit.to_f64()),
            Self::AtMost(limit) => value.to_f64() / limit.to_f64(),
        }
    }
}

impl Kernel {
    /// All five kernels, in the specification's order.
    pub const ALL: [Self; 5] = [Self::PhiZeta, Self::PsiChi, Self::DeltaGamma, Self::OmegaQ, Self::LambdaC];

    /// Φζ ≥ 0.974, Ψχ ≤ 0.15, ΔΓ ≤ 0.10, ΩQ ≥ 0.85, λ_c ≤ 0.15.
    #[must_use]
    pub const fn bound(self) -> Bound {
        match self {
            Self::PhiZeta => Bound::AtLeast(Measure::thousandths(974)),
            Self::PsiChi => Bound::AtMost(Measure::thousandths(150)),
            Self::DeltaGamma => Bound::AtMost(Measure::thousandths(100)),
            Self::OmegaQ => Bound::AtLeast(Measure::thousandths(850)),
            Self::LambdaC => Bound::AtMost(Measure::thousandths(150)),
        }
    }

    /// The symbol in the specification.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::PhiZeta => "Φζ",
            Self::PsiChi => "Ψχ",
            Self::DeltaGamma => "ΔΓ",
            Self::OmegaQ => "ΩQ",
            Self::LambdaC => "λ_c",
        }
    }

    /// The specification's term for its threshold.
    #[must_use]
    pub const fn threshold_name(self) -> &'static str {
        match self {
            Self::PhiZeta => "gate",
            Self::PsiChi => "ceiling",
            Self::DeltaGamma => "limit",
            Self::OmegaQ => "minimum",
            Self::LambdaC => "bound",
        }
    }

    /// The threshold as text: "≥ 0.974".
    #[must_use]
    pub fn threshold(self) -> String {
        match self.bound() {
            Bound::AtLeast(limit) => format!("≥ {limit}"),
            Bound::AtMost(limit) => format!("≤ {limit}"),
        }
    }

    /// All five symbols, separated by commas.
    #[must_use]
    pub fn symbols() -> String {
        Self::ALL.map(Self::symbol).join(", ")
    }
}
