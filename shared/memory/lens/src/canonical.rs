//! canonical_json_profile 1: the only byte format of persisted artifacts.
//!
//! `shared/memory/canonical_json_profile.md` defines the profile; its test vectors are in `canonical_vectors.json`.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use std::collections::{BTreeMap, btree_map::Entry};
use std::fmt;

/// The largest integer of the profile, 2^53 − 1; the smallest is its negative.
pub const MAX_INTEGER: i64 = (1 << 53) - 1;

/// The greatest nesting depth of lists and objects.
pub const MAX_DEPTH: usize = 32;

/// Why bytes are not canonical JSON.
#[derive(Debug, thiserror::Error)]
pub enum CanonicalError {
    /// The bytes are not JSON, or the profile refuses them; the text says where and why.
    #[error("not JSON of canonical_json_profile 1: {0}")]
    Profile(String),
    /// The bytes are JSON of the profile, but not in canonical form.
    #[error("JSON of canonical_json_profile 1, but not its canonical bytes")]
    NotCanonical,
}

/// A JSON value of the profile: no floats, integers within ±(2^53 − 1), ASCII keys, no duplicate keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer within ±[`MAX_INTEGER`].
    Integer(i64),
    /// A string; its characters are kept as they are, without Unicode normalisation.
    Text(String),
    /// A list; its order is significant.
    List(Vec<Value>),
    /// An object; keys are ASCII and sorted by their bytes.
    Object(BTreeMap<String, Value>),
}

impl Value {
    /// The text, if the value is a text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The items of a list; empty for any other value.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        if let Value::List(items) = self { items } else { &[] }
    }

    /// The member of an object with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        if let Value::Object(members) = self { members.get(key) } else { None }
    }

    /// Calls `each` with every key, string and integer in the value, in canonical order.
    pub fn each_text(&self, each: &mut impl FnMut(&str)) {
        match self {
            Value::Null | Value::Bool(_) => {}
            Value::Integer(number) => each(&number.to_string()),
            Value::Text(text) => each(text),
            Value::List(items) => items.iter().for_each(|item| item.each_text(each)),
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                each(key);
                value.each_text(each);
            }),
        }
    }

    /// The canonical bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_text().into_bytes()
    }

    /// The canonical bytes as text: canonical JSON is UTF-8.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(128);
        self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Integer(number) => out.push_str(&number.to_string()),
            Value::Text(text) => write_text(text, out),
            Value::List(items) => write_joined(items.iter(), ['[', ']'], out, |item, out| item.write(out)),
            Value::Object(members) => write_joined(members.iter(), ['{', '}'], out, |(key, value), out| {
                write_text(key, out);
                out.push(':');
                value.write(out);
            }),
        }
    }
}

fn write_joined<T>(
    items: impl Iterator<Item = T>,
    brackets: [char; 2],
    out: &mut String,
    mut write: impl FnMut(T, &mut String),
) {
    out.push(brackets[0]);
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(brackets[1]);
}

/// Writes a string with the escapes of the profile and no others.
fn write_text(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push('"');
    // Escaped characters are ASCII, so that the text may be cut before and after each.
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| *byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        out.push_str(&text[written..at]);
        written = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x09 => out.push_str("\\t"),
            0x0a => out.push_str("\\n"),
            0x0c => out.push_str("\\f"),
            0x0d => out.push_str("\\r"),
            _ => {
                out.push_str("\\u00");
                out.extend([byte >> 4, byte & 15].map(|digit| char::from(HEX[usize::from(digit)])));
            }
        }
    }
    out.push_str(&text[written..]);
    out.push('"');
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items),
            Value::Object(members) => serializer.collect_map(members),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of canonical_json_profile 1")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Value, E> {
        if (-MAX_INTEGER..=MAX_INTEGER).contains(&number) {
            Ok(Value::Integer(number))
        } else {
            Err(E::custom(format!("the integer {number} is beyond ±(2^53 − 1)")))
        }
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        let number = i64::try_from(number).map_err(|_| E::custom("an integer is beyond ±(2^53 − 1)"))?;
        self.visit_i64(number)
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Value, E> {
        Err(E::custom("a number is not an integer in plain digits"))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = BTreeMap::new();
        while let Some(key) = members.next_key::<String>()? {
            if !key.is_ascii() {
                return Err(A::Error::custom(format!("the key {key:?} is not ASCII")));
            }
            match object.entry(key) {
                Entry::Occupied(entry) => {
                    return Err(A::Error::custom(format!("the key {:?} is there twice", entry.key())));
                }
                Entry::Vacant(entry) => {
                    entry.insert(members.next_value()?);
                }
            }
        }
        Ok(Value::Object(object))
    }
}

/// Parses JSON of the profile, in any spacing and order of keys.
///
/// # Errors
/// [`CanonicalError::Profile`] for floats, integers beyond ±(2^53 − 1), duplicate keys, keys that are not ASCII, bytes
/// that are not UTF-8, and nesting deeper than [`MAX_DEPTH`].
pub fn parse(bytes: &[u8]) -> Result<Value, CanonicalError> {
    let text = std::str::from_utf8(bytes).map_err(|error| CanonicalError::Profile(error.to_string()))?;
    let value: Value = serde_json::from_str(text).map_err(|error| CanonicalError::Profile(error.to_string()))?;
    if depth(&value) > MAX_DEPTH {
        return Err(CanonicalError::Profile(format!("lists and objects are nested more than {MAX_DEPTH} deep")));
    }
    Ok(value)
}

/// Parses canonical bytes. Refuses any other encoding of the same value.
///
/// # Errors
/// [`CanonicalError`]
pub fn parse_exact(bytes: &[u8]) -> Result<Value, CanonicalError> {
    let value = parse(bytes)?;
    if value.to_bytes() == bytes { Ok(value) } else { Err(CanonicalError::NotCanonical) }
}

/// The value that a type serialises to.
///
/// # Errors
/// [`CanonicalError::Profile`] when the value breaks a rule of the profile.
pub fn value_of<T: Serialize>(subject: &T) -> Result<Value, CanonicalError> {
    let bytes = serde_json::to_vec(subject).map_err(|error| CanonicalError::Profile(error.to_string()))?;
    parse(&bytes)
}

/// The canonical bytes that a type serialises to.
///
/// # Errors
/// As [`value_of`].
pub fn encode<T: Serialize>(subject: &T) -> Result<Vec<u8>, CanonicalError> {
    value_of(subject).map(|value| value.to_bytes())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
