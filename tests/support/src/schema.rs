//! JSON schemas, as far as those in `docs/schema` go.

use serde_json::{Map, Value};
use std::fs;

/// What is wrong with a document according to `docs/schema/NAME.json`.
pub fn schema_errors(name: &str, document: &Value) -> Vec<String> {
    let path = crate::root().join(format!("docs/schema/{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let root: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}.json: {e}"));
    let mut errors = Vec::new();
    check(&root, &root, document, "", &mut errors);
    // The first ones say what is wrong.
    errors.truncate(10);
    errors
}

/// Words that a check understands. A schema with others would promise what nobody checks.
const WORDS: &[&str] = &[
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "minimum",
    "pattern",
];

fn check(root: &Value, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else { panic!("{at}: a schema is an object") };
    for word in rules.keys() {
        assert!(WORDS.contains(&word.as_str()), "{at}: '{word}' is not checked");
    }
    if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
        let name = name.strip_prefix("#/$defs/").expect("a reference to $defs");
        let found = root.get("$defs").and_then(|defs| defs.get(name));
        return check(root, found.unwrap_or_else(|| panic!("no $defs/{name}")), value, at, errors);
    }
    if let Some(any) = rules.get("anyOf").and_then(Value::as_array) {
        let fits = |schema: &&Value| {
            let mut errors = Vec::new();
            check(root, schema, value, at, &mut errors);
            errors.is_empty()
        };
        if !any.iter().any(|schema| fits(&schema)) {
            errors.push(format!("{at}: {} fits nothing of anyOf", short(value)));
        }
    }
    if rules.get("const").is_some_and(|wanted| wanted != value) {
        errors.push(format!("{at}: {} is not {}", short(value), rules["const"]));
    }
    let allowed = rules.get("enum").and_then(Value::as_array);
    if allowed.is_some_and(|allowed| !allowed.contains(value)) {
        errors.push(format!("{at}: {} is not one of the values", short(value)));
    }
    if !has_type(rules.get("type"), value) {
        errors.push(format!("{at}: {} is no {}", short(value), rules["type"]));
    }
    if rules
        .get("minimum")
        .is_some_and(|least| value.is_number() && value.as_f64() < least.as_f64())
    {
        errors.push(format!("{at}: {} is too small", short(value)));
    }
    if let Some(pattern) = rules.get("pattern") {
        let text = value.as_str().unwrap_or_default();
        // The only patterns in use.
        let is = match pattern.as_str() {
            Some("^[0-9a-f]*$") => text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
            Some("^sm_[0-9]+[af]?$") => text.starts_with("sm_") && text.len() > 3,
            other => panic!("{at}: pattern {other:?} is not checked"),
        };
        if !is {
            errors.push(format!("{at}: {} is not {pattern}", short(value)));
        }
    }
    match value {
        Value::Object(object) => members(root, rules, object, at, errors),
        Value::Array(list) => {
            let Some(items) = rules.get("items") else { return };
            for (index, item) in list.iter().enumerate() {
                check(root, items, item, &format!("{at}/{index}"), errors);
            }
        }
        _ => {}
    }
}

fn members(
    root: &Value,
    rules: &Map<String, Value>,
    object: &Map<String, Value>,
    at: &str,
    errors: &mut Vec<String>,
) {
    let required = rules.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            errors.push(format!("{at}: '{name}' is missing"));
        }
    }
    let known = rules.get("properties").and_then(Value::as_object);
    for (name, value) in object {
        let at = format!("{at}/{name}");
        match (known.and_then(|known| known.get(name)), rules.get("additionalProperties")) {
            (Some(schema), _) => check(root, schema, value, &at, errors),
            (None, Some(Value::Bool(false))) => errors.push(format!("{at}: not in the schema")),
            (None, Some(schema @ Value::Object(_))) => check(root, schema, value, &at, errors),
            _ => {}
        }
    }
}

fn has_type(wanted: Option<&Value>, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        other => panic!("type {other:?}"),
    };
    match wanted {
        None => true,
        Some(Value::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_check_can_fail() {
        let schema = json!({
            "type": "object",
            "required": ["a"],
            "additionalProperties": false,
            "properties": {
                "a": {"type": ["integer", "null"], "minimum": 0},
                "b": {"type": "array", "items": {"$ref": "#/$defs/word"}},
                "c": {"anyOf": [{"const": 1}, {"type": "string"}]},
            },
            "$defs": {"word": {"enum": ["x", "y"]}},
        });
        let errors = |value: Value| {
            let mut errors = Vec::new();
            check(&schema, &schema, &value, "", &mut errors);
            errors.len()
        };
        assert_eq!(errors(json!({"a": 1, "b": ["x", "y"], "c": "z"})), 0);
        for bad in [
            json!([]),
            json!({}),
            json!({"a": "1"}),
            json!({"a": -1}),
            json!({"a": null, "d": 1}),
            json!({"a": 1, "b": ["x", "z"]}),
            json!({"a": 1, "c": 2}),
        ] {
            assert_eq!(errors(bad.clone()), 1, "{bad}");
        }
    }
}
