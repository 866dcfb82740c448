//! Names of the ways to store a cache, as users write them.

use std::fmt;
use std::str::FromStr;

use super::Codec;

const AFF_LEVELS: &[u16] = &[3, 4, 5, 6, 8, 9, 16, 256];
const TOKEN_LEVELS: &[u16] = &[16, 256];
const ROT_LEVELS: &[u16] = &[2, 3, 4, 5, 6, 8, 9, 16];
const EMB_BITS: &[u16] = &[1, 2, 3, 4];

/// How keys and values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tier {
    /// Keys.
    pub k: Codec,
    /// Values.
    pub v: Codec,
}

/// What is wrong with a name of a way to store a cache.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KvSpecError {
    /// No such name.
    #[error(
        "{given:?} is no KV cache type; there are f32, f16, q8_0, q4_0, aff:L (L = {}), rot:L (L = {}), emb:B (B = {}), \
         and keys/values such as emb:4/2 or q8_0/q4_0",
        list(AFF_LEVELS),
        list(ROT_LEVELS),
        list(EMB_BITS)
    )]
    Unknown {
        /// As given.
        given: String,
    },
    /// No such name among those that have kernels.
    #[error(
        "{given:?} is no kind of cache; there are f32, f16, aff:L (L = {}), and keys/values such as aff:16/4",
        list(AFF_LEVELS)
    )]
    NoKind {
        /// As given.
        given: String,
    },
    /// A codec that has no kernels yet.
    #[error(
        "{given:?} has no kernels yet; there are f32, f16, aff:L (L = {}), and keys/values such as aff:16/4",
        list(AFF_LEVELS)
    )]
    NotYet {
        /// As given.
        given: String,
    },
    /// The family exists, but not with this number.
    #[error("{given:?} is no KV cache type: {family} takes {valid}")]
    Number {
        /// As given.
        given: String,
        /// "aff", "rot", "emb" or "token".
        family: &'static str,
        /// The numbers it takes.
        valid: String,
    },
    /// Keys that keep the model's own basis, with values that need the Hadamard basis.
    #[error(
        "{tier} is not possible: aff keys are coded in the model's own basis, {} values in the Hadamard basis, and a \
         cache has one of them; aff, f16 and f32 values go with aff keys",
        .tier.v
    )]
    Basis {
        /// Both sides.
        tier: Tier,
    },
}

fn list(numbers: &[u16]) -> String {
    numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

impl Codec {
    /// Family name and number, the number's valid values; `None` where there is no number.
    fn number(self) -> Option<(&'static str, u16, &'static [u16])> {
        match self {
            Self::F32 | Self::F16 => None,
            Self::Aff { levels } => Some(("aff", levels, AFF_LEVELS)),
            Self::Token { levels } => Some(("token", levels, TOKEN_LEVELS)),
            Self::Rot { levels } => Some(("rot", levels, ROT_LEVELS)),
            Self::Emb { bits } => Some(("emb", u16::from(bits), EMB_BITS)),
        }
    }

    /// Whether the codec exists with this number of levels or bits.
    ///
    /// # Errors
    /// [`KvSpecError::Number`] when it does not.
    pub fn check(self) -> Result<(), KvSpecError> {
        match self.number() {
            Some((family, number, valid)) if !valid.contains(&number) => {
                Err(KvSpecError::Number { given: self.to_string(), family, valid: list(valid) })
            }
            _ => Ok(()),
        }
    }

    /// Whether rows must be in the Hadamard basis ([`super::basis`]) for this codec to work.
    pub fn needs_hadamard(self) -> bool {
        matches!(self, Self::Token { .. } | Self::Rot { .. } | Self::Emb { .. })
    }

    fn parse(given: &str) -> Result<Self, KvSpecError> {
        let unknown = || KvSpecError::Unknown { given: given.to_owned() };
        match given {
            "f32" => return Ok(Self::F32),
            "f16" => return Ok(Self::F16),
            "q8_0" => return Ok(Self::Token { levels: 256 }),
            "q4_0" => return Ok(Self::Token { levels: 16 }),
            _ => {}
        }
        let (family, number) = given.split_once(':').ok_or_else(unknown)?;
        let make: fn(u16) -> Self = match family {
            "aff" => |levels| Self::Aff { levels },
            "rot" => |levels| Self::Rot { levels },
            "emb" => |bits| Self::Emb { bits: u8::try_from(bits).unwrap_or(u8::MAX) },
            _ => return Err(unknown()),
        };
        // What is not a number gets the message of a number that is not valid: it lists those that are.
        let codec = make(if plain_number(number) { number.parse().unwrap_or(0) } else { 0 });
        codec.check().map(|()| codec).map_err(|e| match e {
            KvSpecError::Number { family, valid, .. } => {
                KvSpecError::Number { given: given.to_owned(), family, valid }
            }
            other => other,
        })
    }
}

fn plain_number(s: &str) -> bool {
    !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit())
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self, self.number()) {
            (Self::F32, _) => f.write_str("f32"),
            (Self::F16, _) => f.write_str("f16"),
            (Self::Token { levels: 256 }, _) => f.write_str("q8_0"),
            (Self::Token { levels: 16 }, _) => f.write_str("q4_0"),
            (_, Some((family, number, _))) => write!(f, "{family}:{number}"),
            (_, None) => Ok(()),
        }
    }
}

impl Tier {
    /// Keys and values stored alike.
    pub const fn both(codec: Codec) -> Self {
        Self { k: codec, v: codec }
    }

    /// Reads `f32`, `f16`, `q8_0`, `q4_0`, `aff:L`, `rot:L`, `emb:B`, or two of them as `keys/values`; values of the
    /// keys' family may be a number alone (`emb:4/2`).
    ///
    /// # Errors
    /// [`KvSpecError`], which names what was given and lists what is possible.
    pub fn parse(spec: &str) -> Result<Self, KvSpecError> {
        let tier = match spec.split_once('/') {
            None => Self::both(Codec::parse(spec)?),
            Some((keys, values)) if plain_number(values) => {
                let (family, _) =
                    keys.split_once(':').ok_or_else(|| KvSpecError::Unknown { given: spec.to_owned() })?;
                Self { k: Codec::parse(keys)?, v: Codec::parse(&format!("{family}:{values}"))? }
            }
            Some((keys, values)) => Self { k: Codec::parse(keys)?, v: Codec::parse(values)? },
        };
        tier.check().map(|()| tier)
    }

    /// Whether both sides exist and go together.
    ///
    /// # Errors
    /// [`KvSpecError::Number`] for a codec that does not exist, [`KvSpecError::Basis`] for keys coded per channel next
    /// to values in the Hadamard basis.
    pub fn check(self) -> Result<(), KvSpecError> {
        self.k.check()?;
        self.v.check()?;
        if matches!(self.k, Codec::Aff { .. }) && self.v.needs_hadamard() {
            return Err(KvSpecError::Basis { tier: self });
        }
        Ok(())
    }

    /// Whether the cache keeps keys and values in the Hadamard basis: one side's need decides for both.
    pub fn needs_hadamard(self) -> bool {
        self.k.needs_hadamard() || self.v.needs_hadamard()
    }
}

impl fmt::Display for Tier {
    /// The canonical spelling, which [`Tier::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.k.number(), self.v.number()) {
            _ if self.k == self.v => self.k.fmt(f),
            (Some((a, ..)), Some((b, number, _))) if a == b && a != "token" => {
                write!(f, "{}/{number}", self.k)
            }
            _ => write!(f, "{}/{}", self.k, self.v),
        }
    }
}

impl FromStr for Tier {
    type Err = KvSpecError;

    fn from_str(s: &str) -> Result<Self, KvSpecError> {
        Self::parse(s)
    }
}
