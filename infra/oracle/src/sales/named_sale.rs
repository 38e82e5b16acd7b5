//! The arguments of a command that shows one sale.

use clap::Args;
use domain::SessionId;

use super::sale_name::{self, SaleName};
use crate::{
    command::{CommandError, Target},
    stack::Deployed,
};

#[derive(Args)]
pub(crate) struct NamedSale {
    /// The sale: its Stripe session, or its reference of 8 characters.
    #[arg(value_name = "SALE", value_parser = sale_name::parse)]
    sale: SaleName,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl NamedSale {
    pub(crate) fn open(&self) -> Result<(Deployed, SessionId), CommandError> {
        let deployed = self.target.open()?;
        let session = self.sale.find(&deployed)?;
        Ok((deployed, session))
    }
}
