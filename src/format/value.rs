//! The values that GGUF metadata can hold.

use super::error::show;

macro_rules! kinds {
    ($($kind:ident $id:literal $type:ty;)*) => {
        /// One metadata value.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)] // the variants carry the type's own name
        pub enum Value {
            $($kind($type),)*
            Array(Array),
        }

        /// An array in the metadata. Arrays of arrays are refused by the reader.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)] // the variants carry the type's own name
        pub enum Array {
            $($kind(Vec<$type>),)*
        }

        impl Value {
            /// The name of the type: `U32`, `STRING`, `ARRAY of F32`, ...
            pub fn type_name(&self) -> String {
                match self {
                    $(Self::$kind(_) => stringify!($kind).to_uppercase(),)*
                    Self::Array(a) => format!("ARRAY of {}", a.type_name()),
                }
            }

            /// The id of the type in a GGUF file.
            pub fn gguf_id(&self) -> u32 {
                match self {
                    $(Self::$kind(_) => $id,)*
                    Self::Array(_) => 9,
                }
            }
        }

        impl Array {
            /// The name of the elements' type.
            pub fn type_name(&self) -> String {
                match self { $(Self::$kind(_) => stringify!($kind).to_uppercase(),)* }
            }

            /// The id of the elements' type in a GGUF file.
            pub fn gguf_id(&self) -> u32 {
                match self { $(Self::$kind(_) => $id,)* }
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                match self { $(Self::$kind(v) => v.len(),)* }
            }

            /// Element `i` as a value of its own.
            pub fn get(&self, i: usize) -> Option<Value> {
                match self { $(Self::$kind(v) => v.get(i).cloned().map(Value::$kind),)* }
            }
        }

        $(impl From<$type> for Value {
            fn from(v: $type) -> Self { Self::$kind(v) }
        }
        impl From<Vec<$type>> for Value {
            fn from(v: Vec<$type>) -> Self { Self::Array(Array::$kind(v)) }
        })*
    };
}

kinds! {
    U8 0 u8;
    I8 1 i8;
    U16 2 u16;
    I16 3 i16;
    U32 4 u32;
    I32 5 i32;
    F32 6 f32;
    Bool 7 bool;
    String 8 String;
    U64 10 u64;
    I64 11 i64;
    F64 12 f64;
}

impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Self::String(v.to_owned())
    }
}

impl Array {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Value {
    /// Any integer or bool as an `i128`.
    pub(crate) fn integer(&self) -> Option<i128> {
        Some(match *self {
            Self::U8(v) => v.into(),
            Self::I8(v) => v.into(),
            Self::U16(v) => v.into(),
            Self::I16(v) => v.into(),
            Self::U32(v) => v.into(),
            Self::I32(v) => v.into(),
            Self::U64(v) => v.into(),
            Self::I64(v) => v.into(),
            Self::Bool(v) => v.into(),
            _ => return None,
        })
    }
}

/// For people: long strings and arrays are cut.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::String(v) => f.write_str(&show(v)),
            Self::F32(v) => write!(f, "{v}"),
            Self::F64(v) => write!(f, "{v}"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::Array(a) => {
                const SHOWN: usize = 6;
                f.write_str("[")?;
                for (i, v) in (0..SHOWN).map_while(|i| a.get(i)).enumerate() {
                    write!(f, "{}{v}", if i == 0 { "" } else { ", " })?;
                }
                if a.len() > SHOWN {
                    write!(f, ", ... ({} in all)", a.len())?;
                }
                f.write_str("]")
            }
            v => write!(f, "{}", v.integer().unwrap_or_default()),
        }
    }
}
