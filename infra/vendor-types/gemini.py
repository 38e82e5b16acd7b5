"""Holds recorded calls of Gemini's look-alike against the models of the package google-genai.

Usage: python gemini.py [--wrong] RECORDINGS.jsonl...

The package's models forbid unknown fields; a value outside one of its enums is a warning there and a violation here.
Prints {"checked","violations":[…]} and ends with 1 where there are any.
"""

import re
import warnings

from google.genai import types
from recordings import run

GENERATE = re.compile(r"^/gemini/v1beta/models/[^/]+:generateContent$")
STREAM = re.compile(r"^/gemini/v1beta/models/[^/]+:streamGenerateContent$")
MODEL = re.compile(r"^/gemini/v1beta/models/[^/:]+$")


def judge(model, value):
    """What is wrong with a value, in a line a finding."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model.model_validate(value)
        except ValueError as error:
            return [" ".join(str(error).split())]
    return [str(one.message) for one in told]


def parts(record):
    """What a record holds, with the model of each part."""
    path, reply = record["path"], record.get("reply") or {}
    if GENERATE.match(path) or STREAM.match(path):
        body = record.get("request_body") or {}
        unknown = set(body) - {"systemInstruction", "contents", "generationConfig"}
        if (reply.get("status") or 0) >= 400:
            return
        yield "request", None, [f"unknown fields {sorted(unknown)}"] if unknown else []
        if "systemInstruction" in body:
            yield "request systemInstruction", types.Content, body["systemInstruction"]
        for content in body.get("contents", []):
            yield "request contents", types.Content, content
        if "generationConfig" in body:
            yield "request generationConfig", types.GenerationConfig, body["generationConfig"]
        if GENERATE.match(path):
            yield "reply to generateContent", types.GenerateContentResponse, reply.get("body")
        elif isinstance(reply.get("body"), list):
            for event in reply["body"]:
                yield "event of streamGenerateContent", types.GenerateContentResponse, event
    elif MODEL.match(path) and reply.get("status") == 200:
        # The package names these fields otherwise than the wire does.
        renamed = dict(reply["body"])
        renamed["supportedActions"] = renamed.pop("supportedGenerationMethods", None)
        yield "reply to models.get", types.Model, renamed


def violations(record):
    held = list(parts(record))
    lists = ((what, value if model is None else judge(model, value)) for what, model, value in held)
    return [f"{what}: {problem}" for what, problems in lists for problem in problems] if held else None


if __name__ == "__main__":
    run("gemini", violations)
