//! JSON formatted like Python's `json.dumps(.., ensure_ascii=False)`, the format that models were
//! trained on.

use std::io::{self, Write};

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind};
use serde::Serialize;
use serde_json::ser::Formatter;

use super::python::{DEEPEST, number};

/// Largest number of spaces of an indent.
const WIDEST: usize = 100;

/// Implements the `tojson` filter of chat templates.
pub(super) fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let ensure_ascii: Option<bool> = options.get("ensure_ascii")?;
    options.assert_all_used()?;
    if indent.is_some_and(|width| width > WIDEST) {
        let reason = format!("tojson knows no indent above {WIDEST}");
        return Err(Error::new(ErrorKind::InvalidOperation, reason));
    }
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
    let text = String::from_utf8(bytes).map_err(|e| failed(e.to_string()))?;
    Ok(if ensure_ascii.unwrap_or(false) {
        in_ascii(&text)
    } else {
        text
    })
}

/// Escapes all letters that are not ASCII, which JSON has in texts only.
fn in_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            let units = letter.encode_utf16(&mut [0; 2]).to_vec();
            out.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
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
            Some(width) => {
                writer.write_all(b"\n")?;
                (0..width * self.depth).try_for_each(|_| writer.write_all(b" "))
            }
            None => Ok(()),
        }
    }

    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        if self.depth > DEEPEST {
            let reason = format!("a value of more than {DEEPEST} levels cannot be printed");
            return Err(io::Error::other(reason));
        }
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

#[cfg(test)]
mod tests {
    use minijinja::value::{Kwargs, Value};

    use super::to_json;

    #[test]
    fn json_whitespace_matches_python_json_dumps() {
        let text = r#"{"b":[1,2.5,{}],"a":{"ü<":null,"e":[]}}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        let none = Kwargs::from_iter(std::iter::empty::<(&str, Value)>());
        let plain = to_json(&value, none).expect("JSON");
        assert_eq!(plain, r#"{"b": [1, 2.5, {}], "a": {"ü<": null, "e": []}}"#);
        let ascii = Kwargs::from_iter([("ensure_ascii", Value::from(true))]);
        let escaped = to_json(&Value::from("🎉é\n"), ascii).expect("JSON");
        assert_eq!(escaped, r#""\ud83c\udf89\u00e9\n""#);
        let indent = Kwargs::from_iter([("indent", Value::from(1))]);
        let lines = to_json(&value, indent).expect("JSON");
        let expected =
            "{\n \"b\": [\n  1,\n  2.5,\n  {}\n ],\n \"a\": {\n  \"ü<\": null,\n  \"e\": []\n }\n}";
        assert_eq!(lines, expected);
    }
}
