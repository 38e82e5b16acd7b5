//! Promotion codes, read from data/promotion_codes.toml.

use serde_json::{Value, json};

use super::error::StripeError;
use super::form::Form;
use super::listing;
use super::store::PromotionCode;
use crate::state::State;

impl PromotionCode {
    fn value(&self) -> Value {
        json!({
            "id": self.id,
            "object": "promotion_code",
            "active": self.active,
            "code": self.code,
            "created": 1_760_000_000,
            "customer": null,
            "expires_at": null,
            "livemode": false,
            "max_redemptions": null,
            "metadata": {},
            "promotion": {"type": "coupon", "coupon": self.coupon},
            "restrictions": {"first_time_transaction": false, "minimum_amount": null, "minimum_amount_currency": null},
            "times_redeemed": 0,
        })
    }
}

pub(crate) fn list(state: &State, form: &Form) -> Result<Value, StripeError> {
    let mut parameters = vec!["code", "active", "coupon"];
    parameters.extend(listing::PARAMETERS);
    form.allow(&parameters)?;
    let active = form.boolean("active")?;
    let items: Vec<Value> = state
        .stripe
        .promotion_codes
        .iter()
        .filter(|promotion| active.is_none_or(|active| active == promotion.active))
        .filter(|promotion| form.get("code").is_none_or(|code| code.eq_ignore_ascii_case(&promotion.code)))
        .filter(|promotion| form.get("coupon").is_none_or(|coupon| coupon == promotion.coupon))
        .map(PromotionCode::value)
        .collect();
    listing::page(&items, "promotion_code", form, "/v1/promotion_codes")
}

pub(crate) fn retrieve(state: &State, id: &str, form: &Form) -> Result<Value, StripeError> {
    form.allow(&["expand.#"])?;
    find(state, id).map(PromotionCode::value).ok_or_else(|| StripeError::missing("promotion_code", id, None))
}

pub(crate) fn find<'a>(state: &'a State, id: &str) -> Option<&'a PromotionCode> {
    let mut codes = state.stripe.promotion_codes.iter();
    codes.find(|promotion| promotion.id == id)
}
