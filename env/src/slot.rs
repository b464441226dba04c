//! The five public slots, each of which is filled by a hidden specialist or worker.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::schema::impl_json_schema;

/// Number of slots in a world.
pub const SLOTS: usize = 5;

const NAMES: [&str; SLOTS] = ["S0", "S1", "S2", "S3", "S4"];

/// A public slot, `S0` to `S4`. Every value of this type is an existing slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u8);

impl Slot {
    /// All slots in ascending order; ties are resolved in favor of the first one.
    pub const ALL: [Self; SLOTS] = [Self(0), Self(1), Self(2), Self(3), Self(4)];

    /// Returns the slot with this index, or `None` if there is none.
    #[must_use]
    pub const fn new(index: usize) -> Option<Self> {
        if index < SLOTS {
            Some(Self::ALL[index])
        } else {
            None
        }
    }

    /// Returns the slot with this name (`"S0"` to `"S4"`), or `None` if there is none.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        NAMES.iter().position(|n| *n == name).and_then(Self::new)
    }

    /// Returns the index of the slot, 0..=4.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the public name, `"S0"` to `"S4"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        NAMES[self.0 as usize]
    }
}

impl std::fmt::Display for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Slot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl_json_schema!([] Slot, "Slot", |_generator| crate::schema::one_of(&NAMES));

/// One value per slot; serializes as a map in the order S0..S4, as in the reference.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct PerSlot<T>(pub [T; SLOTS]);

impl<T> std::ops::Index<Slot> for PerSlot<T> {
    type Output = T;
    fn index(&self, slot: Slot) -> &T {
        &self.0[slot.index()]
    }
}

impl<T: Serialize> Serialize for PerSlot<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(SLOTS))?;
        for (name, value) in NAMES.iter().zip(&self.0) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl_json_schema!([T: schemars::JsonSchema] PerSlot<T>, "PerSlot", |generator| {
    let value = generator.subschema_for::<T>();
    let properties: serde_json::Map<_, _> = (NAMES.iter())
        .map(|name| ((*name).to_owned(), value.clone().to_value()))
        .collect();
    schemars::json_schema!({
        "type": "object", "properties": properties, "required": NAMES, "additionalProperties": false,
    })
});

/// Returns the first slot with the largest value, like Python's `max` with a key.
#[must_use]
pub fn argmax(values: &[f64; SLOTS]) -> Slot {
    let mut best = 0;
    for i in 1..SLOTS {
        if values[i] > values[best] {
            best = i;
        }
    }
    Slot::ALL[best]
}
