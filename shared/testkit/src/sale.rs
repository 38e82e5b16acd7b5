//! Sales in any state, for tests: parsed from their stored form, as the store does. Code under test can only change a
//! sale by its transitions.

use crate::world::World;
use domain::Sale;
use serde::Serialize;
use serde_json::{Value, json};

/// Replaces one field in the stored form of a sale.
pub trait WithField {
    /// The sale with this value in `field`.
    ///
    /// # Panics
    /// When a stored sale has no such field, or the field does not accept such a value.
    #[must_use]
    fn with(&self, field: &str, value: impl Serialize) -> Self;
}

impl WithField for Sale {
    fn with(&self, field: &str, value: impl Serialize) -> Self {
        let value = json!(value);
        let mut stored = json!(self);
        stored[field] = value.clone();
        let sale: Self =
            serde_json::from_value(stored).unwrap_or_else(|error| panic!("{field} of a sale as {value}: {error}"));
        // A field that is false may be left out of the stored form.
        let kept = json!(sale).get(field).cloned().unwrap_or(Value::Bool(false));
        assert_eq!(kept, value, "{field} of a sale");
        sale
    }
}

impl World {
    /// Every sale gets this value in `field`.
    ///
    /// # Panics
    /// As [`WithField::with`] does.
    pub fn change_sales(&self, field: &str, value: &(impl Serialize + ?Sized)) {
        self.state().sales.values_mut().for_each(|(sale, _)| *sale = sale.with(field, value));
    }
}
