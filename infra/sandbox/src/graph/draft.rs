//! Checks a caller's message before it is stored.

use serde_json::{Map, Value, json};

use super::error::GraphError;

const PROPERTIES: [&str; 17] = [
    "subject",
    "body",
    "from",
    "sender",
    "toRecipients",
    "ccRecipients",
    "bccRecipients",
    "replyTo",
    "importance",
    "categories",
    "internetMessageHeaders",
    "singleValueExtendedProperties",
    "internetMessageId",
    "isDeliveryReceiptRequested",
    "isReadReceiptRequested",
    "inferenceClassification",
    "flag",
];
const RECIPIENT_LISTS: [&str; 4] = ["toRecipients", "ccRecipients", "bccRecipients", "replyTo"];
const CUSTOM_HEADERS: usize = 5;
const HEADER_VALUE_CHARACTERS: usize = 995;

pub(crate) fn parse_message(value: &Value) -> Result<Map<String, Value>, GraphError> {
    let Value::Object(fields) = value else {
        return Err(GraphError::bad("Unable to read JSON request payload: a message is an object."));
    };
    if let Some(unknown) =
        fields.keys().find(|name| !PROPERTIES.contains(&name.as_str()) && !name.starts_with("@odata."))
    {
        let message = format!(
            "The property '{unknown}' does not exist on type 'microsoft.graph.message'. Make sure to only use property names that are defined by the type."
        );
        return Err(GraphError::new(400, "RequestBodyRead", message));
    }
    let mut message = fields.clone();
    message.retain(|name, _| !name.starts_with("@odata."));
    if message.get("subject").is_some_and(|subject| !subject.is_string()) {
        return Err(not_a("subject", "Edm.String"));
    }
    if let Some(body) = message.get("body") {
        let body = parse_body(body)?;
        message.insert("body".to_owned(), body);
    }
    for list in RECIPIENT_LISTS {
        if let Some(recipients) = message.get(list) {
            let recipients = parse_recipients(list, recipients)?;
            message.insert(list.to_owned(), recipients);
        }
    }
    if let Some(headers) = message.get("internetMessageHeaders") {
        check_headers(headers)?;
    }
    if let Some(properties) = message.get("singleValueExtendedProperties") {
        check_extended_properties(properties)?;
    }
    Ok(message)
}

/// Parses the body of sendMail: the message, and whether it is stored in the sent items.
pub(crate) fn parse_send_mail(value: &Value) -> Result<(Map<String, Value>, bool), GraphError> {
    let unknown = value.as_object().and_then(|fields| {
        fields
            .keys()
            .find(|name| !name.eq_ignore_ascii_case("message") && !name.eq_ignore_ascii_case("saveToSentItems"))
    });
    if let Some(unknown) = unknown {
        return Err(GraphError::bad(format!(
            "The parameter '{unknown}' in the request payload is not a valid parameter for the operation 'sendMail'."
        )));
    }
    let field = |name: &str| {
        let fields = value.as_object()?;
        let found = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    };
    let Some(message) = field("message") else {
        return Err(GraphError::new(400, "ErrorInvalidRequest", "The parameter 'message' is missing."));
    };
    let save = match field("saveToSentItems") {
        None => true,
        Some(Value::Bool(save)) => *save,
        // Graph accepts the text too.
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => true,
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => false,
        Some(_) => return Err(not_a("saveToSentItems", "Edm.Boolean")),
    };
    Ok((parse_message(message)?, save))
}

fn not_a(name: &str, kind: &str) -> GraphError {
    let message = format!("Cannot convert the value of '{name}' to the expected target type '{kind}'.");
    GraphError::new(400, "RequestBodyRead", message)
}

fn parse_body(body: &Value) -> Result<Value, GraphError> {
    let stated = body["contentType"].as_str().unwrap_or("");
    let kind = match stated.to_ascii_lowercase().as_str() {
        "text" => "text",
        "html" => "html",
        _ => {
            let message = format!("Requested value '{stated}' was not found: body.contentType is Text or HTML.");
            return Err(GraphError::new(400, "RequestBodyRead", message));
        }
    };
    let Some(content) = body["content"].as_str() else {
        return Err(not_a("body.content", "Edm.String"));
    };
    Ok(json!({"contentType": kind, "content": content}))
}

fn parse_recipients(list: &str, recipients: &Value) -> Result<Value, GraphError> {
    let Some(recipients) = recipients.as_array() else {
        return Err(not_a(list, "Collection(microsoft.graph.recipient)"));
    };
    let parsed: Result<Vec<Value>, GraphError> = recipients
        .iter()
        .map(|recipient| {
            let mailbox = &recipient["emailAddress"];
            let address = mailbox["address"].as_str();
            let address = address.ok_or_else(|| not_a(list, "microsoft.graph.recipient"))?;
            let name = mailbox["name"].as_str().unwrap_or(address);
            Ok(json!({"emailAddress": {"name": name, "address": address}}))
        })
        .collect();
    parsed.map(Value::Array)
}

/// The id of an extended property in a form that can be compared: `String {GUID} Name …`. The GUID may be in upper or
/// lower case, the name is case-sensitive. Properties without a name are not supported.
pub(crate) fn extended_property(id: &str) -> Result<String, GraphError> {
    let invalid = || {
        let message = format!(
            "PropertyId values may only be in one of the following formats: 'MapiPropertyType {{GUID}} Name StringName' and others, got '{id}'."
        );
        GraphError::new(400, "ErrorInvalidProperty", message)
    };
    let (guid, name) = id.strip_prefix("String {").and_then(|rest| rest.split_once("} Name ")).ok_or_else(invalid)?;
    let groups: Vec<&str> = guid.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let hexadecimal = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if lengths != [8, 4, 4, 4, 12] || !hexadecimal || name.is_empty() {
        return Err(invalid());
    }
    Ok(format!("String {{{}}} Name {name}", guid.to_ascii_lowercase()))
}

fn check_extended_properties(properties: &Value) -> Result<(), GraphError> {
    let kind = "Collection(microsoft.graph.singleValueLegacyExtendedProperty)";
    let properties = properties.as_array().ok_or_else(|| not_a("singleValueExtendedProperties", kind))?;
    for property in properties {
        extended_property(property["id"].as_str().unwrap_or(""))?;
        if !property["value"].is_string() {
            return Err(not_a("value", "Edm.String"));
        }
    }
    Ok(())
}

fn check_headers(headers: &Value) -> Result<(), GraphError> {
    let Some(headers) = headers.as_array() else {
        return Err(not_a("internetMessageHeaders", "Collection(microsoft.graph.internetMessageHeader)"));
    };
    if headers.len() > CUSTOM_HEADERS {
        let message =
            format!("Maximum number of headers in one message should be less than or equal to {CUSTOM_HEADERS}.");
        return Err(GraphError::new(400, "InvalidInternetMessageHeaderCollection", message));
    }
    for header in headers {
        let name = header["name"].as_str().unwrap_or("");
        if !name.to_ascii_lowercase().starts_with("x-") || name.len() < 3 {
            let message = format!("The internet message header name '{name}' should start with 'x-' or 'X-'.");
            return Err(GraphError::new(400, "InvalidInternetMessageHeader", message));
        }
        let value = header["value"].as_str();
        let usable = value
            .is_some_and(|value| value.chars().count() <= HEADER_VALUE_CHARACTERS && !value.contains(['\r', '\n']));
        if !usable {
            let message = format!("The value of the internet message header '{name}' is invalid or too long.");
            return Err(GraphError::new(400, "InvalidInternetMessageHeader", message));
        }
    }
    Ok(())
}
