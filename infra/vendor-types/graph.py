"""Holds recorded calls of Microsoft Graph's look-alike against Microsoft's own description, graph.csdl beside this.

Usage: python graph.py [--wrong] RECORDINGS.jsonl...

Unknown properties, values of another type, members that an enumeration does not have and properties that a whole message
lacks are violations; so are $select, $filter, $orderby and $expand of properties that are not described.
Prints {"checked","violations":[…]} and ends with 1 where there are any.
"""

import base64
import binascii
import json
import re
import xml.etree.ElementTree as ElementTree
from datetime import datetime
from pathlib import Path

from recordings import run

EDM = "{http://docs.oasis-open.org/odata/ns/edm}"

USER = r"^/graph/v1\.0/users/[^/]+"
MESSAGES = re.compile(USER + r"/messages$")
FOLDER = re.compile(USER + r"/mailFolders/[^/]+/messages$")
MESSAGE = re.compile(USER + r"/messages/[^/]+$")
SEND_MAIL = re.compile(USER + r"/sendMail$")
ACTION = re.compile(USER + r"/messages/[^/]+/(?P<name>[A-Za-z]+)$")

# Graph returns these of a message only to a call that names them in $select.
ONLY_SELECTED = {"internetMessageHeaders", "uniqueBody"}
# Only what is extended, or what an answer has besides the entity (OData 4.0, JSON format, control information).
ANNOTATIONS = {"@odata.context", "@odata.count", "@odata.etag", "@odata.nextLink", "@odata.type"}


class Description:
    """The types of a CSDL file by their names without the namespace."""

    def __init__(self, path):
        schema = ElementTree.parse(path).getroot().find(f".//{EDM}Schema")
        self.types = {e.get("Name"): e for e in schema if e.tag in (f"{EDM}EntityType", f"{EDM}ComplexType")}
        self.enums = {
            e.get("Name"): {member.get("Name") for member in e.findall(f"{EDM}Member")}
            for e in schema.findall(f"{EDM}EnumType")
        }
        self.actions = {
            e.get("Name"): {p.get("Name").lower(): p.get("Type") for p in e.findall(f"{EDM}Parameter")}
            for e in schema.findall(f"{EDM}Action")
        }

    def properties(self, name, kind="Property"):
        """Properties of a type and of those that it extends, with their elements."""
        element = self.types[name]
        base = element.get("BaseType")
        inherited = self.properties(base.removeprefix("graph."), kind) if base else {}
        return inherited | {e.get("Name"): e for e in element.findall(EDM + kind)}

    def problems(self, kind, value, at):
        """What is wrong with a value of a type, in a line a finding."""
        collection = re.fullmatch(r"Collection\((.*)\)", kind)
        if collection:
            if not isinstance(value, list):
                return [f"{at} is no list"]
            return [problem for one in value for problem in self.problems(collection[1], one, at)]
        if kind.startswith("Edm."):
            return [] if is_primitive(kind, value) else [f"{at} is no {kind}: {value!r}"]
        name = kind.removeprefix("graph.")
        if name in self.enums:
            return [] if value in self.enums[name] else [f"{at} is no {name}: {value!r}"]
        return self.object_problems(name, value, at)

    def object_problems(self, name, value, at):
        if not isinstance(value, dict):
            return [f"{at} is no {name}"]
        known = self.properties(name) | self.properties(name, "NavigationProperty")
        found = []
        for key, inner in value.items():
            if key in ANNOTATIONS:
                continue
            # messages are open types; we rest on nothing that is not described
            if key not in known:
                found.append(f"{at} has a property {key} that {name} has not")
            elif inner is None:
                if known[key].get("Nullable") == "false":
                    found.append(f"{at}.{key} may not be null")
            else:
                found += self.problems(known[key].get("Type"), inner, f"{at}.{key}")
        return found

    def lacking(self, message):
        """What a message has that Graph returned without a $select."""
        wanted = set(self.properties("message")) - ONLY_SELECTED
        return [f"a whole message lacks {name}" for name in sorted(wanted - set(message))]


def is_primitive(kind, value):
    if kind == "Edm.Boolean":
        return isinstance(value, bool)
    if not isinstance(value, str):
        return False
    try:
        if kind == "Edm.DateTimeOffset":
            return datetime.fromisoformat(value.replace("Z", "+00:00")).tzinfo is not None
        if kind == "Edm.Binary":
            return bool(base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)) or value == ""
    except (ValueError, binascii.Error):
        return False
    return kind == "Edm.String"


def asked_for(description, query):
    """Properties that a call names, which a message does not have."""
    texts = re.compile(r"'(?:[^']|'')*'")
    filtered = texts.sub("", query.get("$filter", ""))
    lambda_free = re.sub(r"/any\(.*\)$", "", filtered)
    names = [part.split()[0] for part in re.split(r"\band\b", lambda_free) if part.split()]
    names += [name.strip() for name in query.get("$select", "").split(",") if name]
    names += [part.split()[0] for part in query.get("$orderby", "").split(",") if part]
    known = set(description.properties("message")) | set(description.properties("message", "NavigationProperty"))
    expanded = query.get("$expand", "").split("(")[0]
    if expanded and expanded not in description.properties("message", "NavigationProperty"):
        yield f"$expand of {expanded}"
    yield from (f"a query names {name}" for name in names if name not in known)


def of_action(description, name, body):
    """The parameters of an action; Graph takes their names in letters of either case."""
    parameters = description.actions.get(name)
    if parameters is None:
        return [f"no action {name} is described"]
    found = []
    for key, value in (body or {}).items():
        if key.lower() not in parameters or key.lower() == "bindingparameter":
            found.append(f"{name} has no parameter {key}")
        else:
            found += description.problems(parameters[key.lower()], value, f"{name} {key}")
    return found


def without_folded(body):
    """Enumerations are read in letters of either case; replies have them as described."""
    message = json.loads(json.dumps(body))
    content = message.get("body") if isinstance(message, dict) else None
    if isinstance(content, dict) and isinstance(content.get("contentType"), str):
        content["contentType"] = content["contentType"].lower()
    return message


def violations(description, record):
    """What is wrong with one accepted call, its request first."""
    method, path, query = record["method"], record["path"], record.get("query") or {}
    body, reply = record.get("request_body"), (record.get("reply") or {}).get("body")
    yield from asked_for(description, query)
    is_list = MESSAGES.match(path) or FOLDER.match(path)
    if method == "GET" and is_list:
        yield from (f"a list has {key}" for key in reply if key != "value" and key not in ANNOTATIONS)
        for message in reply["value"]:
            yield from of_reply(description, message, query)
    elif method == "GET" and MESSAGE.match(path):
        yield from of_reply(description, reply, query)
    elif method == "POST" and MESSAGES.match(path):
        yield from description.problems("graph.message", without_folded(body), "draft")
        yield from of_reply(description, reply, {})
    elif method == "POST" and SEND_MAIL.match(path):
        yield from of_action(description, "sendMail", {key: without_folded(value) for key, value in body.items()})
    elif method == "POST" and ACTION.match(path):
        yield from of_action(description, ACTION.match(path)["name"], body)
    elif not (method == "DELETE" and MESSAGE.match(path)):
        yield f"{method} {re.sub(r'users/[^/]+', 'users/…', path)} is no call that is described"


def of_reply(description, message, query):
    yield from description.problems("graph.message", message, "message")
    if "$select" not in query:
        yield from description.lacking(message)


if __name__ == "__main__":
    described = Description(Path(__file__).with_name("graph.csdl"))

    def accepted(record):
        status = (record.get("reply") or {}).get("status") or 0
        return list(violations(described, record)) if 200 <= status < 300 else None

    run("graph", accepted)
