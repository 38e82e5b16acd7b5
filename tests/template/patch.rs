//! Mistakes for the parsed template: a rule that does not find its mistake checks nothing.

use serde_json::{Value, json};

/// One change of the parsed, expanded template.
pub(crate) type Patch = Box<dyn Fn(&mut Value)>;

/// Sets the value at a JSON pointer; the parent must exist.
pub(crate) fn set(pointer: &str, value: Value) -> Patch {
    let (parent, key) = parted(pointer);
    Box::new(move |template| match at(template, &parent) {
        Value::Array(values) => values[key.parse::<usize>().expect("an index")] = value.clone(),
        parent => parent[key.as_str()] = value.clone(),
    })
}

/// Removes the value at a JSON pointer; it must exist.
pub(crate) fn remove(pointer: &str) -> Patch {
    let (parent, key) = parted(pointer);
    Box::new(move |template| {
        let gone = at(template, &parent).as_object_mut().and_then(|parent| parent.remove(&key));
        assert!(gone.is_some(), "{parent}/{key} is not there");
    })
}

/// Renames the entry at a JSON pointer, within its parent.
pub(crate) fn rename(pointer: &str, new: &str) -> Patch {
    let (parent, key) = parted(pointer);
    let new = new.to_owned();
    Box::new(move |template| {
        let parent = at(template, &parent).as_object_mut().expect("an object");
        let value = parent.remove(&key).expect("something to rename");
        parent.insert(new.clone(), value);
    })
}

/// Replaces a part of the text at a JSON pointer.
pub(crate) fn edit(pointer: &str, from: &str, to: &str) -> Patch {
    let (pointer, from, to) = (pointer.to_owned(), from.to_owned(), to.to_owned());
    Box::new(move |template| {
        let value = at(template, &pointer);
        let text = value.as_str().expect("a text");
        assert!(text.contains(&from), "{pointer} has no {from}");
        *value = json!(text.replacen(&from, &to, 1));
    })
}

/// Replaces the first value below a JSON pointer that equals `from`.
pub(crate) fn replace(pointer: &str, from: Value, to: Value) -> Patch {
    let pointer = pointer.to_owned();
    Box::new(move |template| assert!(replaced(at(template, &pointer), &from, &to), "{pointer} has no {from}"))
}

/// Appends a value to the list at a JSON pointer.
pub(crate) fn push(pointer: &str, value: Value) -> Patch {
    let pointer = pointer.to_owned();
    Box::new(move |template| at(template, &pointer).as_array_mut().expect("a list").push(value.clone()))
}

/// Sets a property of a resource.
pub(crate) fn change(resource: &str, name: &str, value: impl Into<Value>) -> Patch {
    set(&property(resource, name), value.into())
}

/// Removes a property of a resource.
pub(crate) fn omit(resource: &str, name: &str) -> Patch {
    remove(&property(resource, name))
}

/// The JSON pointer of a resource's property.
pub(crate) fn property(resource: &str, name: &str) -> String {
    format!("/Resources/{resource}/Properties/{name}")
}

fn parted(pointer: &str) -> (String, String) {
    let (parent, key) = pointer.rsplit_once('/').expect("a JSON pointer");
    (parent.to_owned(), key.replace("~1", "/").replace("~0", "~"))
}

fn at<'a>(template: &'a mut Value, pointer: &str) -> &'a mut Value {
    template.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing is at {pointer}"))
}

fn replaced(value: &mut Value, from: &Value, to: &Value) -> bool {
    if value == from {
        *value = to.clone();
        return true;
    }
    match value {
        Value::Object(object) => object.values_mut().any(|value| replaced(value, from, to)),
        Value::Array(values) => values.iter_mut().any(|value| replaced(value, from, to)),
        _ => false,
    }
}
