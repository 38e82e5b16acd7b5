//! Promotion codes, read from data/promotion_codes.toml.

use serde_json::{Value, json};

use super::{error::StripeError, form::Form, listing, objects::whole, store::PromotionCode};
use crate::state::State;

impl PromotionCode {
    fn value(&self) -> Value {
        let given = json!({
            "id": self.id,
            "active": self.active,
            "code": self.code,
            "promotion": {"type": "coupon", "coupon": self.coupon},
        });
        whole("promotion_code", given)
    }
}

pub(crate) fn list(state: &State, form: &Form) -> Result<Value, StripeError> {
    listing::allow(form, &["code", "active", "coupon"])?;
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
