//! The macro for enums whose variants have a word each: a name in logs, a code in records, a text for operators.

/// Declares an enum with a word beside each variant. A function gives the word; `ALL` is declared where it is asked for.
///
/// ```text
/// /// A letter.
/// #[derive(Clone, Copy)]
/// pub enum Letter {
///     /// The notice that the submission did not arrive.
///     SilentDrop = "silent_drop",
/// }
/// /// Its name in logs.
/// pub const fn as_str;
/// /// Every letter, in this order.
/// pub const ALL;
/// ```
#[macro_export]
macro_rules! enum_with_words {
    (
        $(#[$of_enum:meta])* $vis:vis enum $name:ident { $($(#[$of_variant:meta])* $variant:ident = $word:literal,)* }
        $(#[$of_read:meta])* $read_vis:vis const fn $read:ident;
    ) => {
        $(#[$of_enum])*
        $vis enum $name { $($(#[$of_variant])* $variant,)* }

        impl $name {
            $(#[$of_read])*
            #[must_use]
            $read_vis const fn $read(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
    (
        $(#[$of_enum:meta])* $vis:vis enum $name:ident { $($(#[$of_variant:meta])* $variant:ident = $word:literal,)* }
        $(#[$of_read:meta])* $read_vis:vis const fn $read:ident;
        $(#[$of_all:meta])* $all_vis:vis const ALL;
    ) => {
        $crate::enum_with_words! {
            $(#[$of_enum])* $vis enum $name { $($(#[$of_variant])* $variant = $word,)* }
            $(#[$of_read])* $read_vis const fn $read;
        }

        impl $name {
            $(#[$of_all])*
            $all_vis const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];
        }
    };
}
