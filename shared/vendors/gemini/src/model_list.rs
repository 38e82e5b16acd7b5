//! The list of models, in order of preference.

/// The name of a model: letters in lower case, digits, dots and dashes, so that it is valid in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName(String);

/// The models, the preferred one first. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelList(Vec<ModelName>);

/// The longest name, in bytes.
pub const MAX_NAME_BYTES: usize = 100;

/// Why a text is not a list of models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidModelList {
    /// It names no model.
    #[error("the list of models is empty")]
    Empty,
    /// The name at this position, counted from 1, is not valid.
    #[error("name {0} in the list of models is not made of a-z, 0-9, dots and dashes")]
    Name(usize),
    /// The name at this position appears twice.
    #[error("name {0} in the list of models is there twice")]
    Duplicate(usize),
}

impl ModelName {
    /// Accepts a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let alphabet = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-');
        let first = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        (first && text.len() <= MAX_NAME_BYTES && text.bytes().all(alphabet)).then(|| Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ModelList {
    /// Parses names separated by commas, and trims them.
    ///
    /// # Errors
    /// [`InvalidModelList`] names the position.
    pub fn parse(text: &str) -> Result<Self, InvalidModelList> {
        if text.trim().is_empty() {
            return Err(InvalidModelList::Empty);
        }
        let mut names = Vec::new();
        for (index, name) in text.split(',').enumerate() {
            let name = ModelName::parse(name.trim()).ok_or(InvalidModelList::Name(index + 1))?;
            if names.contains(&name) {
                return Err(InvalidModelList::Duplicate(index + 1));
            }
            names.push(name);
        }
        Ok(Self(names))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(ModelName::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_kept() {
        let list = ModelList::parse("gemini-2.5-flash, gemini-3.5-flash-lite").unwrap();
        assert_eq!(list.names().collect::<Vec<_>>(), ["gemini-2.5-flash", "gemini-3.5-flash-lite"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        use InvalidModelList::*;
        let long = "a".repeat(101);
        for (text, error) in [
            ("", Empty),
            (" \n", Empty),
            (",", Name(1)),
            ("a,", Name(2)),
            ("a,,b", Name(2)),
            ("a,B", Name(2)),
            ("a b", Name(1)),
            ("..", Name(1)),
            ("-a", Name(1)),
            ("a/../b", Name(1)),
            ("a?key=b", Name(1)),
            ("a:b", Name(1)),
            ("a%2e", Name(1)),
            ("gémini", Name(1)),
            (&long, Name(1)),
            ("a,b, a", Duplicate(3)),
        ] {
            assert_eq!(ModelList::parse(text), Err(error), "{text:?}");
        }
    }
}
