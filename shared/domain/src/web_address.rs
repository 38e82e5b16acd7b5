//! The rule for the addresses of our site and of vendors' interfaces, to which paths are appended.

/// Characters that no host has.
const NO_HOST: &str = "%<>@[]^|";

/// The address without trailing slashes; `None` unless it is http or https, with a host and without white space, a query
/// or a fragment.
#[must_use]
pub fn web_address(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let is_plain = !text.contains(|c: char| c.is_whitespace() || c.is_control() || "?#\\".contains(c));
    let is_address = is_plain && has_host(rest.split('/').next().unwrap_or_default());
    is_address.then(|| text.trim_end_matches('/').to_owned())
}

/// Whether it is a host, with or without a port.
fn has_host(authority: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    if let Some((address, port)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_ended = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return is_ended && address.contains(':') && address.chars().all(|c| c.is_ascii_hexdigit() || ":.".contains(c));
    }
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    !host.is_empty() && !host.contains(|c: char| NO_HOST.contains(c)) && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_without_its_trailing_slashes_and_nothing_else_is() {
        for (text, expected) in [
            ("https://oracle.example", "https://oracle.example"),
            ("http://127.0.0.1:8090/", "http://127.0.0.1:8090"),
            ("http://[::1]:8090", "http://[::1]:8090"),
            ("https://api.example/v1//", "https://api.example/v1"),
        ] {
            assert_eq!(web_address(text).as_deref(), Some(expected));
        }
        for text in [
            "",
            "oracle.example",
            "ftp://a.example",
            "https://",
            "https:///v1",
            "https://:80",
            "https://a.example:port",
            "https://a.example:99999",
            "https://a b.example",
            "https://a.example?key=1",
            "https://a.example/#top",
            "https://user@a.example",
            "https://[::1",
            "https://a.example\n",
        ] {
            assert_eq!(web_address(text), None, "{text:?}");
        }
    }
}
