//! The macro for types that are a checked text.

/// What a type that is a checked text has beside its `parse`: the text, and the reading of a stored one.
macro_rules! text_newtype {
    ($name:ident, $invalid:ident) => {
        impl $name {
            /// The whole text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $invalid;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(text)
            }
        }
    };
}

pub(crate) use text_newtype;
