//! JSON formatted like Python's `json.dumps(.., ensure_ascii=False)`, the format that models were
//! trained on.

use std::io::{self, Write};

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind};
use serde::Serialize;
use serde_json::ser::Formatter;

/// Implements the `tojson` filter of chat templates.
pub(super) fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let _: Option<Value> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    let mut bytes = Vec::new();
    let style = Style {
        indent,
        depth: 0,
        filled: false,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, style);
    let failed = |reason: String| Error::new(ErrorKind::BadSerialization, reason);
    value
        .serialize(&mut serializer)
        .map_err(|e| failed(e.to_string()))?;
    String::from_utf8(bytes).map_err(|e| failed(e.to_string()))
}

/// A formatter that places whitespace as Python does.
struct Style {
    indent: Option<usize>,
    depth: usize,
    /// `true` if the list or object written last is not empty.
    filled: bool,
}

impl Style {
    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        match self.indent {
            Some(width) => write!(writer, "\n{:1$}", "", width * self.depth),
            None => Ok(()),
        }
    }

    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.filled {
            self.line(writer)?;
        }
        self.filled = true;
        writer.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(if self.indent.is_some() { b"," } else { b", " })?;
        }
        self.line(writer)
    }
}

impl Formatter for Style {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.next(w, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.next(w, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(number(value).as_bytes())
    }
}

/// Formats a number like Python's `repr`: the shortest digits, with an exponent below 1e-4 and from
/// 1e16.
fn number(value: f64) -> String {
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

#[cfg(test)]
mod tests {
    use minijinja::value::{Kwargs, Value};

    use super::{number, to_json};

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
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn json_whitespace_matches_python_json_dumps() {
        let text = r#"{"b":[1,2.5,{}],"a":{"ü<":null,"e":[]}}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        let none = Kwargs::from_iter(std::iter::empty::<(&str, Value)>());
        let plain = to_json(&value, none).expect("JSON");
        assert_eq!(plain, r#"{"b": [1, 2.5, {}], "a": {"ü<": null, "e": []}}"#);
        let indent = Kwargs::from_iter([("indent", Value::from(1))]);
        let lines = to_json(&value, indent).expect("JSON");
        let expected =
            "{\n \"b\": [\n  1,\n  2.5,\n  {}\n ],\n \"a\": {\n  \"ü<\": null,\n  \"e\": []\n }\n}";
        assert_eq!(lines, expected);
    }
}
