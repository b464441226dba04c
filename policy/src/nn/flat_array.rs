//! Nested arrays as one sequence of numbers for serde, which knows arrays of at most 32 elements only:
//! `#[serde(with = "crate::nn::flat_array")]`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeTuple as _;
use serde::{Deserializer, Serializer};

/// A number, or an array of such.
pub trait Nested: Sized {
    /// Number of numbers in a value.
    const COUNT: usize;

    /// Appends the numbers of `self` to a sequence.
    ///
    /// # Errors
    /// Returns the error of the serializer.
    fn write<S: serde::ser::SerializeTuple>(&self, sequence: &mut S) -> Result<(), S::Error>;

    /// Reads a value from the next numbers of a sequence.
    ///
    /// # Errors
    /// Returns an error if there are too few, or one is of another type.
    fn read<'de, A: SeqAccess<'de>>(sequence: &mut A) -> Result<Self, A::Error>;
}

macro_rules! number {
    ($type:ty) => {
        impl Nested for $type {
            const COUNT: usize = 1;

            fn write<S: serde::ser::SerializeTuple>(
                &self,
                sequence: &mut S,
            ) -> Result<(), S::Error> {
                sequence.serialize_element(self)
            }

            fn read<'de, A: SeqAccess<'de>>(sequence: &mut A) -> Result<Self, A::Error> {
                let next = sequence.next_element::<Self>()?;
                next.ok_or_else(|| A::Error::custom("an array ends early"))
            }
        }
    };
}

number!(f32);
number!(bool);

impl<T: Nested, const N: usize> Nested for [T; N] {
    const COUNT: usize = N * T::COUNT;

    fn write<S: serde::ser::SerializeTuple>(&self, sequence: &mut S) -> Result<(), S::Error> {
        self.iter().try_for_each(|value| value.write(sequence))
    }

    fn read<'de, A: SeqAccess<'de>>(sequence: &mut A) -> Result<Self, A::Error> {
        let values: Result<Vec<T>, A::Error> = (0..N).map(|_| T::read(sequence)).collect();
        let array = Self::try_from(values?);
        array.map_err(|_| A::Error::custom("an array has another length"))
    }
}

/// Serializes an array as one sequence of its numbers.
///
/// # Errors
/// Returns the error of the serializer.
pub fn serialize<T: Nested, S: Serializer>(array: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_tuple(T::COUNT)?;
    array.write(&mut sequence)?;
    sequence.end()
}

/// Deserializes an array from one sequence of its numbers.
///
/// # Errors
/// Returns an error if the sequence is too short.
pub fn deserialize<'de, T: Nested, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Reader<T>(PhantomData<T>);

    impl<'de, T: Nested> Visitor<'de> for Reader<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} numbers", T::COUNT)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<T, A::Error> {
            T::read(&mut sequence)
        }
    }

    deserializer.deserialize_tuple(T::COUNT, Reader(PhantomData))
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Rows(#[serde(with = "super")] [[f32; 40]; 2]);

    #[test]
    fn nested_arrays_are_read_back() -> Result<(), serde_json::Error> {
        let mut rows = Rows([[0.0; 40]; 2]);
        rows.0[1][39] = 0.1;
        let text = serde_json::to_string(&rows)?;
        assert_eq!(serde_json::from_str::<Rows>(&text)?, rows);
        let short = serde_json::from_str::<Rows>("[0.5, 1.5]");
        assert!(short.is_err_and(|error| error.to_string().contains("ends early")));
        Ok(())
    }
}
