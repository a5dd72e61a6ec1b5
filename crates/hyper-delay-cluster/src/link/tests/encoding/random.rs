//! Makes random values of every type that can be deserialized.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, EnumAccess, Error as _, IntoDeserializer as _,
        SeqAccess, VariantAccess, Visitor, value::U32Deserializer,
    },
};

/// Draws values. A value is what a type makes of random numbers, texts and variants.
pub(super) struct Random {
    numbers: fastrand::Rng,
    /// How often each variant was drawn.
    drawn: BTreeMap<String, usize>,
}

/// A type does not take what was drawn.
#[derive(Debug)]
pub(super) struct NotTaken(String);

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotTaken {}

impl serde::de::Error for NotTaken {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            numbers: fastrand::Rng::with_seed(seed),
            drawn: BTreeMap::new(),
        }
    }

    pub(super) fn numbers(&mut self) -> &mut fastrand::Rng {
        &mut self.numbers
    }

    /// Returns a value, of the first draw that the type takes.
    pub(super) fn draw<T: DeserializeOwned>(&mut self) -> T {
        loop {
            if let Ok(value) = T::deserialize(&mut *self) {
                return value;
            }
        }
    }

    pub(super) fn into_drawn(self) -> BTreeMap<String, usize> {
        self.drawn
    }

    /// Small numbers are as likely as large ones.
    fn number(&mut self, bits: u32) -> u64 {
        let kept = self.numbers.u32(0..=bits);
        match kept {
            0 => 0,
            kept => self.numbers.u64(..) >> (64 - kept),
        }
    }

    fn text(&mut self) -> String {
        let length = self.numbers.usize(0..6);
        (0..length).map(|_| self.numbers.char(..)).collect()
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
            let number = self.number(<$type>::BITS);
            visitor.$visit(<$type>::try_from(number).expect("it has as many bits"))
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Random {
    type Error = NotTaken;

    fn is_human_readable(&self) -> bool {
        false
    }

    numbers!(
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64
    );

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        let upper = u128::from(self.number(64));
        visitor.visit_u128(upper << 64 | u128::from(self.number(64)))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        visitor.visit_bool(self.numbers.bool())
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        visitor.visit_string(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        visitor.visit_string(self.text())
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        let length = self.numbers.usize(0..200);
        let bytes: Vec<u8> = (0..length).map(|_| self.numbers.u8(..)).collect();
        visitor.visit_bytes(&bytes)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        match self.numbers.bool() {
            true => visitor.visit_some(self),
            false => visitor.visit_none(),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        let left = self.numbers.usize(0..4);
        visitor.visit_seq(Items { random: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        visitor.visit_seq(Items { random: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        self.deserialize_tuple(left, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        let variant = self.numbers.usize(0..variants.len());
        for (number, it) in variants.iter().enumerate() {
            let drawn = self.drawn.entry(format!("{name}::{it}")).or_default();
            *drawn += usize::from(number == variant);
        }
        let number = u32::try_from(variant).expect("there are few");
        visitor.visit_enum(Variant {
            random: self,
            number,
        })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NotTaken> {
        Err(NotTaken::custom("no type of a link needs it"))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 f32 f64 char byte_buf unit_struct map identifier ignored_any
    }
}

struct Items<'a> {
    random: &'a mut Random,
    left: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = NotTaken;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, NotTaken> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.random).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

struct Variant<'a> {
    random: &'a mut Random,
    number: u32,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = NotTaken;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), NotTaken> {
        let number: U32Deserializer<NotTaken> = self.number.into_deserializer();
        Ok((seed.deserialize(number)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = NotTaken;

    fn unit_variant(self) -> Result<(), NotTaken> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, NotTaken> {
        seed.deserialize(self.random)
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, NotTaken> {
        self.random.deserialize_tuple(left, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        self.random.deserialize_tuple(fields.len(), visitor)
    }
}
