//! A decoder of postcard's format that is half as large as the library's when it is compiled.
//!
//! A decoder that may fail at every field needs code that drops the fields before it, which was most
//! of the code of a message. This one never stops: it notes that the bytes are wrong, reads zeros
//! from there on, and tells so at the end. Its error type has no value, so the compiler removes
//! every path that would handle one.

use serde::de::value::U32Deserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer,
    SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// The error of bytes that are not a message of the wanted type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError;

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the bytes are not a message of this type")
    }
}

impl std::error::Error for DecodeError {}

/// Decodes a message.
///
/// # Errors
/// Returns an error if the bytes are not a message of this type.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader {
        rest: bytes,
        is_wrong: false,
    };
    let Ok(message) = T::deserialize(&mut reader);
    if reader.is_wrong {
        return Err(DecodeError);
    }
    Ok(message)
}

/// An error that never occurs.
#[derive(Debug)]
enum Never {}

impl std::fmt::Display for Never {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

impl Error for Never {
    /// Derived types call this for a value of another kind or count than they asked for, which
    /// [`Reader`] never gives.
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        unreachable!("the reader gives what a type asks for")
    }
}

struct Reader<'de> {
    rest: &'de [u8],
    /// `true` once the bytes were found wrong; everything reads as zero from there on.
    is_wrong: bool,
}

impl<'de> Reader<'de> {
    #[inline(never)]
    fn take(&mut self, count: usize) -> &'de [u8] {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) if !self.is_wrong => {
                self.rest = rest;
                taken
            }
            _ => {
                self.is_wrong = true;
                &[]
            }
        }
    }

    #[inline(never)]
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    /// Reads groups of seven bits, the lowest first.
    #[inline(never)]
    fn varint(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // The tenth group has one bit.
                self.is_wrong |= shift == 63 && byte > 1;
                return value;
            }
        }
        self.is_wrong = true;
        0
    }

    /// Reads a signed number, whose sign is the lowest bit.
    fn zigzag(&mut self) -> i64 {
        let coded = self.varint();
        (coded >> 1).cast_signed() ^ -(coded & 1).cast_signed()
    }

    #[inline(never)]
    fn length(&mut self) -> usize {
        usize::try_from(self.varint()).unwrap_or(usize::MAX)
    }

    #[inline(never)]
    fn string(&mut self) -> String {
        let count = self.length();
        let text = std::str::from_utf8(self.take(count));
        self.is_wrong |= text.is_err();
        text.unwrap_or_default().to_owned()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().unwrap_or([0; N])
    }
}

/// Implements methods that read a number and hand it to the visitor.
macro_rules! numbers {
    ($($method:ident $visit:ident $kind:ty, $read:ident;)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
                let read = self.$read();
                let value = <$kind>::try_from(read);
                self.is_wrong |= value.is_err();
                visitor.$visit(value.unwrap_or_default())
            }
        )*
    };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Never;

    numbers! {
        deserialize_u8 visit_u8 u8, byte;
        deserialize_u16 visit_u16 u16, varint;
        deserialize_u32 visit_u32 u32, varint;
        deserialize_u64 visit_u64 u64, varint;
        deserialize_i16 visit_i16 i16, zigzag;
        deserialize_i32 visit_i32 i32, zigzag;
        deserialize_i64 visit_i64 i64, zigzag;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        self.is_wrong = true;
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let byte = self.byte();
        self.is_wrong |= byte > 1;
        visitor.visit_bool(byte == 1)
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_i8(self.byte().cast_signed())
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_f32(f32::from_le_bytes(self.array()))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_f64(f64::from_le_bytes(self.array()))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let text = self.string();
        let mut chars = text.chars();
        let (first, more) = (chars.next(), chars.next());
        self.is_wrong |= first.is_none() || more.is_some();
        visitor.visit_char(first.unwrap_or_default())
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_string(self.string())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_string(self.string())
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let count = self.length();
        visitor.visit_bytes(self.take(count))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let byte = self.byte();
        self.is_wrong |= byte > 1;
        match byte {
            1 => visitor.visit_some(self),
            _ => visitor.visit_none(),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Never> {
        let left = self.length();
        visitor.visit_seq(Items { reader: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(Fields(self))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        let index = self.varint();
        let is_known = index < variants.len() as u64;
        self.is_wrong |= !is_known;
        let index = if is_known { index as u32 } else { 0 };
        visitor.visit_enum(Variant {
            reader: self,
            index,
        })
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! { i128 u128 map identifier ignored_any }
}

/// The elements of a list, which are counted.
struct Items<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Never;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Never> {
        if self.left == 0 || self.reader.is_wrong {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        // Every element takes a byte at least.
        Some(self.left.min(self.reader.rest.len()))
    }
}

/// The fields of a type, which asks for as many as it has.
struct Fields<'a, 'de>(&'a mut Reader<'de>);

impl<'de> SeqAccess<'de> for Fields<'_, 'de> {
    type Error = Never;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Never> {
        seed.deserialize(&mut *self.0).map(Some)
    }
}

/// A variant of an enum that the enum has.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    index: u32,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a, 'de> {
    type Error = Never;
    type Variant = Fields<'a, 'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), Never> {
        let index: U32Deserializer<Never> = self.index.into_deserializer();
        let variant = seed.deserialize(index)?;
        Ok((variant, Fields(self.reader)))
    }
}

impl<'de> VariantAccess<'de> for Fields<'_, 'de> {
    type Error = Never;

    fn unit_variant(self) -> Result<(), Never> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Never> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Never> {
        visitor.visit_seq(self)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Never> {
        visitor.visit_seq(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        Empty,
        One(Box<All>),
        Two(i64, char),
        Named { left: Option<f32>, right: [f64; 2] },
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        numbers: (u8, i8, u16, i16, u32, i32, u64),
        flags: Vec<bool>,
        text: String,
        kinds: Vec<Kind>,
        content: Result<Vec<u8>, String>,
    }

    fn all() -> All {
        All {
            numbers: (255, -128, u16::MAX, i16::MIN, u32::MAX, i32::MIN, u64::MAX),
            flags: vec![true, false],
            text: "é, Ω and 𝄞".to_owned(),
            kinds: vec![
                Kind::Empty,
                Kind::Two(i64::MIN, '\u{10ffff}'),
                Kind::Two(i64::MAX, 'j'),
                Kind::Named {
                    left: Some(-0.5),
                    right: [f64::MAX, 1e-300],
                },
                Kind::Named {
                    left: None,
                    right: [0.0; 2],
                },
            ],
            content: Ok(vec![0, 128, 255]),
        }
    }

    #[test]
    fn every_kind_of_value_survives() {
        let inner = All {
            content: Err("missing".to_owned()),
            ..all()
        };
        let message = All {
            kinds: vec![Kind::One(Box::new(inner))],
            ..all()
        };
        let bytes = encode(&message).expect("encoded");
        assert_eq!(decode(&bytes), Ok(message.clone()));
        assert_eq!(postcard::from_bytes(&bytes), Ok(message));
    }

    /// A part of a message is refused, and what the library reads is read alike.
    #[test]
    fn wrong_bytes_do_no_harm() {
        let bytes = encode(&all()).expect("encoded");
        for end in 0..bytes.len() {
            assert_eq!(decode::<All>(&bytes[..end]), Err(DecodeError), "{end}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 2, 4, 127, 128, 255] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let found = decode::<All>(&changed).ok();
                if let Ok(known) = postcard::from_bytes::<All>(&changed) {
                    // A changed number may not be equal to itself.
                    let known = format!("{:?}", Some(known));
                    assert_eq!(format!("{found:?}"), known, "byte {at} is {value}");
                }
            }
        }
    }
}
