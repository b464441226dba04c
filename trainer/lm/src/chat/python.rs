//! Values as Python prints them, and filters and tests of Jinja2 that depend on it or that differ from those of
//! the template engine.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, State};

/// Largest number of lists and objects within each other that are printed.
pub(super) const DEEPEST: usize = 200;

/// Sets how values are printed, with the filters and tests that go with it.
pub(super) fn extend(environment: &mut Environment<'_>) {
    environment.set_formatter(|out: &mut Output<'_>, _: &State<'_, '_>, value: &Value| {
        out.write_str(&text(value)?).map_err(Error::from)
    });
    environment.add_filter("string", text);
    environment.add_filter("join", join);
    environment.add_filter("round", round);
    // In Python, None is not iterable, a text and an object have a length and items, and a bool is a number.
    environment.add_test("iterable", |value: &Value| {
        !value.is_none() && value.try_iter().is_ok()
    });
    environment.add_test("sequence", |value: &Value| {
        use ValueKind::{Map, Seq, String, Undefined};
        matches!(value.kind(), Map | Seq | String | Undefined)
    });
    environment.add_test("number", |value: &Value| {
        matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
    });
}

/// Returns a value as `str` of Python writes it.
///
/// # Errors
/// If it has more than [`DEEPEST`] levels.
fn text(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(String::new()),
        ValueKind::String => Ok(value.to_string()),
        _ => repr(value, 0),
    }
}

/// Returns a value as `repr` of Python writes it. Tuples, which the template engine does not have, are lists.
fn repr(value: &Value, depth: usize) -> Result<String, Error> {
    if depth > DEEPEST {
        let reason = format!("a value of more than {DEEPEST} levels cannot be printed");
        return Err(Error::new(ErrorKind::InvalidOperation, reason));
    }
    let items = |of: &Value, item: &dyn Fn(Value) -> Result<String, Error>| {
        let items = of.try_iter().into_iter().flatten();
        let all = items.map(item).collect::<Result<Vec<_>, Error>>();
        all.map(|all| all.join(", "))
    };
    Ok(match value.kind() {
        ValueKind::Undefined => "Undefined".to_owned(),
        ValueKind::String => quoted(&value.to_string()),
        ValueKind::Number if !value.is_integer() => {
            f64::try_from(value.clone()).map_or_else(|_| value.to_string(), number)
        }
        ValueKind::Seq | ValueKind::Iterable => {
            format!("[{}]", items(value, &|item| repr(&item, depth + 1))?)
        }
        ValueKind::Map => {
            let pair = |key: Value| {
                let found = value.get_item(&key).unwrap_or_default();
                let (key, found) = (repr(&key, depth + 1)?, repr(&found, depth + 1)?);
                Ok(format!("{key}: {found}"))
            };
            format!("{{{}}}", items(value, &pair)?)
        }
        _ => value.to_string(),
    })
}

/// Returns a text in the quotes that Python chooses, with its escapes.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            '\\' => out += "\\\\",
            letter if letter == quote => out.extend(['\\', letter]),
            '"' | '\'' => out.push(letter),
            letter if is_printable(letter) => out.push(letter),
            letter => {
                out += &match u32::from(letter) {
                    code @ 0..=0xff => format!("\\x{code:02x}"),
                    code @ 0x100..=0xffff => format!("\\u{code:04x}"),
                    code => format!("\\U{code:08x}"),
                }
            }
        }
    }
    out.push(quote);
    out
}

/// Returns `true` for letters that Python prints as they are: those that Rust does, but for white space.
fn is_printable(letter: char) -> bool {
    // A mark that combines with the letter before is escaped only at the beginning of a text.
    let after = format!("a{letter}").escape_debug().count();
    letter == ' ' || !letter.is_whitespace() && after == 2
}

/// Formats a number like Python's `repr`: the shortest digits, with an exponent below 1e-4 and from
/// 1e16.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 || (-4..16).contains(&power) {
        let plain = format!("{value}");
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}

/// Implements the filter `join`.
fn join(value: &Value, joiner: Option<String>, options: Kwargs) -> Result<String, Error> {
    let joiner = joiner.map_or_else(
        || options.get::<Option<String>>("d"),
        |given| Ok(Some(given)),
    )?;
    let attribute: Option<Value> = options.get("attribute")?;
    options.assert_all_used()?;
    let mut texts = Vec::new();
    for item in value.try_iter()? {
        texts.push(match &attribute {
            Some(path) => text(&attribute_of(&item, path)?)?,
            None => text(&item)?,
        });
    }
    Ok(texts.join(&joiner.unwrap_or_default()))
}

/// Returns an attribute of a value; a text with dots names one attribute in another, numbers are indices.
fn attribute_of(value: &Value, path: &Value) -> Result<Value, Error> {
    let Some(path) = path.as_str() else {
        return value.get_item(path);
    };
    path.split('.')
        .try_fold(value.clone(), |value, part| match part.parse::<usize>() {
            Ok(index) => value.get_item_by_index(index),
            Err(_) => value.get_attr(part),
        })
}

/// Implements the filter `round`: a float stays a float, and halves go to the even neighbour.
fn round(value: Value, precision: Option<i32>, options: Kwargs) -> Result<Value, Error> {
    let precision =
        precision.map_or_else(|| options.get::<Option<i32>>("precision"), |p| Ok(Some(p)))?;
    let precision = precision.unwrap_or(0);
    let method: Option<String> = options.get("method")?;
    options.assert_all_used()?;
    let refused = |reason: &str| Error::new(ErrorKind::InvalidOperation, reason.to_owned());
    if method.is_some_and(|method| method != "common") {
        return Err(refused("round knows the method \"common\" only"));
    }
    let Ok(places) = usize::try_from(precision) else {
        return Err(refused("round knows no precision below 0"));
    };
    if value.kind() != ValueKind::Number || value.is_integer() {
        return match value.kind() {
            ValueKind::Number => Ok(value),
            kind => Err(refused(&format!("cannot round value ({kind})"))),
        };
    }
    // No number has a digit beyond.
    let places = places.min(400);
    let rounded = format!("{:.places$}", f64::try_from(value)?).parse::<f64>();
    rounded
        .map(Value::from)
        .map_err(|error| refused(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use minijinja::Environment;

    use super::{extend, number};

    #[test]
    fn float_format_matches_python_repr() {
        let cases = [
            (0.5, "0.5"),
            (2.0, "2.0"),
            (1e-6, "1e-06"),
            (1.5e-7, "1.5e-07"),
            (1e16, "1e+16"),
            (123_456.75, "123456.75"),
            (0.0001, "0.0001"),
            (-0.0, "-0.0"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    /// Outputs of Jinja2 3.1 on Python 3.11.
    #[test]
    fn values_are_printed_as_by_python() {
        let mut environment = Environment::new();
        extend(&mut environment);
        for (source, expected) in [
            ("{{ [1,'a',none,true,[2]] }}", "[1, 'a', None, True, [2]]"),
            ("{{ {1:2,'a':none,'b':{}} }}", "{1: 2, 'a': None, 'b': {}}"),
            (
                "{{ [1.0,1e16,1e-7] }} {{ 1e16 }}",
                "[1.0, 1e+16, 1e-07] 1e+16",
            ),
            (
                r#"{{ ["a'b",'a"b','"\'','\\'] }}"#,
                r#"["a'b", 'a"b', '"\'', '\\']"#,
            ),
            (
                "{{ ['é\n\t\u{7f}\u{200b}', '\u{a0}\u{ad}日本\u{e000}🎉e\u{301}', '\u{301}'] }}",
                "['é\\n\\t\\x7f\\u200b', '\\xa0\\xad日本\\ue000🎉e\u{301}', '\u{301}']",
            ),
            ("{{ [nothing] }}{{ nothing }}", "[Undefined]"),
            ("{{ ['a'] + ['b'] }}{{ ['a','b'][:1] }}", "['a', 'b']['a']"),
            ("{{ \"it's\" }}", "it's"),
            (
                "{{ [1,'a',[2]]|string }}{{ 1e16|string }}",
                "[1, 'a', [2]]1e+16",
            ),
            (
                "{{ [[1,'a'],none,1e16,true]|join('|') }}",
                "[1, 'a']|None|1e+16|True",
            ),
            (
                "{{ [{'a':1},{'a':2}]|join('-',attribute='a') }}{{ 'abc'|join('-') }}",
                "1-2a-b-c",
            ),
            (
                "{{ [{'a':{'b':[1,2]}}]|join('-',attribute='a.b.1') }} {{ 1.5|round(65536) }}",
                "2 1.5",
            ),
            (
                "{{ 2.5|round }} {{ 3|round }} {{ 3.14159|round(2) }} {{ 2.675|round(2) }}",
                "2.0 3 3.14 2.67",
            ),
            (
                "{{ 'a' is sequence }}{{ {} is sequence }}{{ [] is sequence }}{{ nothing is sequence }}",
                "TrueTrueTrueTrue",
            ),
            ("{{ 1 is sequence }}{{ none is sequence }}", "FalseFalse"),
            ("{{ true is number }}{{ true is integer }}", "TrueFalse"),
        ] {
            let found = environment.render_str(source, ());
            assert_eq!(found.expect(source), expected, "{source}");
        }
    }

    #[test]
    fn deep_values_are_refused() {
        let mut environment = Environment::new();
        extend(&mut environment);
        environment.add_filter("tojson", super::super::tojson::to_json);
        let nested = "{% set ns=namespace(x=[]) %}{% for i in range(2000) %}{% set ns.x=[ns.x] %}{% endfor %}";
        for printed in [
            "{{ ns.x }}",
            "{{ ns.x|string }}",
            "{{ ns.x|tojson }}",
            "{% set ns.x=ns %}{{ ns }}",
        ] {
            let error = environment.render_str(&format!("{nested}{printed}"), ());
            let error = error.expect_err(printed).to_string();
            assert!(error.contains("200 levels"), "{printed}: {error}");
        }
    }
}
