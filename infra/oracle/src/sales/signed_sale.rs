//! The arguments of a command that changes one sale.

use clap::Args;
use domain::{Operator, SessionId};

use super::sale_name::{self, SaleName};
use crate::{
    command::{CommandError, Signed},
    stack::Deployed,
};

#[derive(Args)]
pub(crate) struct SignedSale {
    /// The sale: its Stripe session, or its reference of 8 characters.
    #[arg(value_name = "SALE", value_parser = sale_name::parse)]
    sale: SaleName,
    #[command(flatten)]
    pub(crate) signed: Signed,
}

impl SignedSale {
    /// Opens the stack, and names the operator and the sale.
    pub(crate) fn open(&self) -> Result<(Deployed, Operator, SessionId), CommandError> {
        self.find(self.signed.open()?)
    }

    /// The same, for an `action` that needs a reason.
    pub(crate) fn open_with_reason(&self, action: &str) -> Result<(Deployed, Operator, SessionId), CommandError> {
        self.find(self.signed.open_with_reason(action)?)
    }

    fn find(
        &self,
        (deployed, operator): (Deployed, Operator),
    ) -> Result<(Deployed, Operator, SessionId), CommandError> {
        let session = self.sale.find(&deployed)?;
        Ok((deployed, operator, session))
    }
}
