//! The pre-tokenizers that a GGUF names in `tokenizer.ggml.pre`, and how to recognise them in a `tokenizer.json`.
//!
//! A rule is a list of steps; each step cuts the pieces of the step before. A name also settles three things that the
//! GGUF itself does not say: whether text is brought to NFC first, whether a whole piece that is a token is taken
//! without merging, and whether BOS is added when the file is silent.

use serde_json::Value;
use tokenizers::normalizers::{NFC, NormalizerWrapper};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

use super::error::{TextError, clip};

/// One cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Every match is a piece, and so is what lies between.
    Split(&'static str),
    /// Every numeric character is a piece.
    Digits,
    /// The words of GPT-2.
    Gpt2,
}

/// A named pre-tokenizer.
#[derive(Debug)]
pub struct PreTokenizer {
    names: &'static [&'static str],
    steps: &'static [Step],
    nfc: bool,
    ignore_merges: bool,
    add_bos: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const KIMI_K2: &str = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const DEEPSEEK_CJK: &str = r"[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+";
const DEEPSEEK_WORDS: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##;
/// Cased letters as an older Unicode knew them.
const DEEPSEEK_LLM_LETTERS: &str = r"\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+";
const DEEPSEEK_LLM_MARKS: &str =
    r"\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+";
const DEEPSEEK_LLM_CJK: &str = r"[\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+";

const fn rule(names: &'static [&'static str], steps: &'static [Step]) -> PreTokenizer {
    PreTokenizer { names, steps, nfc: false, ignore_merges: false, add_bos: false }
}

/// Every rule. The order matters to [`recognise`] only: the first rule that fits gives the name to write.
static RULES: [PreTokenizer; 15] = [
    rule(&["gpt-2", "default", "olmo", "phi-2", "mpt"], &[Step::Gpt2]),
    rule(
        &["smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b"],
        &[Step::Digits, Step::Gpt2],
    ),
    PreTokenizer { nfc: true, ..rule(&["command-r"], &[Step::Digits, Step::Gpt2]) },
    PreTokenizer {
        ignore_merges: true,
        add_bos: true,
        ..rule(
            &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "lfm2", "pixtral"],
            &[Step::Split(LLAMA3)],
        )
    },
    rule(&["dbrx", "smaug-bpe", "glm4", "chatglm-bpe"], &[Step::Split(LLAMA3)]),
    PreTokenizer { nfc: true, ..rule(&["qwen2"], &[Step::Split(QWEN2)]) },
    rule(&["deepseek-r1-qwen"], &[Step::Split(QWEN2)]),
    PreTokenizer { nfc: true, ..rule(&["qwen35"], &[Step::Split(QWEN35)]) },
    rule(&["gpt-4o", "llama4", "grok-2"], &[Step::Split(GPT4O)]),
    PreTokenizer { ignore_merges: true, add_bos: true, ..rule(&["tekken"], &[Step::Split(TEKKEN)]) },
    rule(
        &["deepseek-llm"],
        &[
            Step::Split(r"[\r\n]"),
            Step::Split(DEEPSEEK_LLM_LETTERS),
            Step::Split(DEEPSEEK_LLM_MARKS),
            Step::Split(r"\s+$"),
            Step::Split(DEEPSEEK_LLM_CJK),
            Step::Digits,
        ],
    ),
    rule(
        &["deepseek-coder"],
        &[
            Step::Split(r"[\r\n]"),
            Step::Split(r"\s?\p{L}+"),
            Step::Split(r"\s?\p{P}+"),
            Step::Split(DEEPSEEK_LLM_CJK),
            Step::Digits,
        ],
    ),
    rule(
        &["deepseek-v3", "hunyuan-dense"],
        &[Step::Split(r"\p{N}{1,3}"), Step::Split(DEEPSEEK_CJK), Step::Split(DEEPSEEK_WORDS)],
    ),
    rule(&["kimi-k2"], &[Step::Split(KIMI_K2)]),
    // Not a name of any file: the rule of GPT-OSS, which is gpt-4o's with whole tokens taken unmerged. Only here so
    // that the writer finds a name for it; merging gives the same ids for that vocabulary.
    PreTokenizer { ignore_merges: true, ..rule(&["gpt-4o"], &[Step::Split(GPT4O)]) },
];

/// The names that [`PreTokenizer::by_name`] knows, for messages.
pub const PRE_NAMES: &str = "gpt-2, default, olmo, phi-2, mpt, smollm, starcoder, refact, codeshell, exaone, \
     minerva-7b, command-r, llama-bpe, llama3, llama-v3, falcon3, falcon-h1, lfm2, pixtral, dbrx, smaug-bpe, glm4, \
     chatglm-bpe, qwen2, deepseek-r1-qwen, qwen35, gpt-4o, llama4, grok-2, tekken, deepseek-llm, deepseek-coder, \
     deepseek-v3, hunyuan-dense, kimi-k2";

impl PreTokenizer {
    /// The rule of a name. No name at all is the rule of GPT-2, with a warning.
    pub fn by_name(name: Option<&str>) -> Result<&'static PreTokenizer, TextError> {
        let name = match name {
            Some(n) if !n.is_empty() => n,
            _ => {
                log::warn!("GGUF: `tokenizer.ggml.pre` is missing; taking the pre-tokenizer of GPT-2");
                "default"
            }
        };
        RULES.iter().find(|r| r.names.contains(&name)).ok_or_else(|| TextError::Unsupported {
            file: "GGUF",
            part: "pre-tokenizer (tokenizer.ggml.pre)",
            found: clip(name),
            supported: PRE_NAMES.to_owned(),
        })
    }

    /// The name under which this rule is written.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or("default")
    }

    /// Whether a piece that is itself a token is taken without merging.
    pub fn ignore_merges(&self) -> bool {
        self.ignore_merges
    }

    /// Whether BOS is added when the file does not say.
    pub fn add_bos(&self) -> bool {
        self.add_bos
    }

    /// The normalizer: NFC where the tokenizer was trained with it.
    pub(super) fn normalizer(&self) -> Option<NormalizerWrapper> {
        self.nfc.then(|| NormalizerWrapper::NFC(NFC))
    }

    /// The rule as the crate runs it, byte alphabet included.
    pub(super) fn build(&self) -> Result<PreTokenizerWrapper, TextError> {
        let mut steps = Vec::new();
        let mut words = false;
        for step in self.steps {
            match step {
                Step::Split(regex) => {
                    let pattern = SplitPattern::Regex((*regex).to_owned());
                    let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
                    steps.push(PreTokenizerWrapper::Split(split.map_err(TextError::engine)?));
                }
                Step::Digits => steps.push(PreTokenizerWrapper::Digits(Digits::new(true))),
                Step::Gpt2 => words = true,
            }
        }
        steps.push(PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, words)));
        Ok(PreTokenizerWrapper::Sequence(Sequence::new(steps)))
    }
}

/// The rule that a `tokenizer.json` spells out, if it is one of ours.
pub(super) fn recognise(
    pre_tokenizer: Option<&Value>,
    normalizer: Option<&Value>,
    ignore_merges: bool,
) -> Option<&'static PreTokenizer> {
    let mut steps = Vec::new();
    if !flatten(pre_tokenizer?, &mut steps) {
        return None;
    }
    let nfc = match normalizer_names(normalizer)?.as_slice() {
        [] => false,
        [one] if one == "NFC" => true,
        _ => return None,
    };
    let same = |rule: &&PreTokenizer| {
        rule.nfc == nfc
            && rule.ignore_merges == ignore_merges
            && rule.steps.len() == steps.len()
            && rule.steps.iter().zip(&steps).all(|(ours, theirs)| match ours {
                Step::Split(regex) => unescape(regex) == unescape(theirs),
                Step::Digits => theirs == DIGITS,
                Step::Gpt2 => theirs == GPT2_WORDS || theirs == GPT2,
            })
    };
    RULES.iter().find(same)
}

const DIGITS: &str = "<digits>";
const GPT2_WORDS: &str = "<words>";

/// The steps of a JSON pre-tokenizer, in our words. False when one of them has no counterpart.
fn flatten(value: &Value, out: &mut Vec<String>) -> bool {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("");
    match kind {
        "Sequence" => match value.get("pretokenizers").and_then(Value::as_array) {
            Some(list) => list.iter().all(|v| flatten(v, out)),
            None => false,
        },
        "Split" => {
            let regex = value.pointer("/pattern/Regex").and_then(Value::as_str);
            let behavior = value.get("behavior").and_then(Value::as_str).unwrap_or("");
            let invert = value.get("invert").and_then(Value::as_bool).unwrap_or(false);
            // Removing what a pattern that matches everywhere does not match is isolating its matches.
            let isolates = (behavior == "Isolated" && !invert) || (behavior == "Removed" && invert);
            match regex {
                Some(regex) if isolates => {
                    out.push(regex.to_owned());
                    true
                }
                _ => false,
            }
        }
        "Digits" => {
            out.push(DIGITS.to_owned());
            value.get("individual_digits").and_then(Value::as_bool) == Some(true)
        }
        "ByteLevel" => {
            if value.get("use_regex").and_then(Value::as_bool).unwrap_or(true) {
                out.push(GPT2_WORDS.to_owned());
            }
            value.get("add_prefix_space").and_then(Value::as_bool) != Some(true)
        }
        _ => false,
    }
}

/// The names of the normalizers, sequences opened.
fn normalizer_names(value: Option<&Value>) -> Option<Vec<String>> {
    let Some(value) = value.filter(|v| !v.is_null()) else { return Some(Vec::new()) };
    match value.get("type").and_then(Value::as_str)? {
        "Sequence" => {
            let mut all = Vec::new();
            for v in value.get("normalizers").and_then(Value::as_array)? {
                all.extend(normalizer_names(Some(v))?);
            }
            Some(all)
        }
        other => Some(vec![other.to_owned()]),
    }
}

/// Writes out the escapes that different files use for the same character, so that patterns can be compared.
fn unescape(regex: &str) -> String {
    let mut out = String::with_capacity(regex.len());
    let mut rest = regex;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let hex = escape.strip_prefix("\\x{").and_then(|h| h.split_once('}'));
        let decoded =
            hex.and_then(|(h, after)| Some((char::from_u32(u32::from_str_radix(h, 16).ok()?)?, after)));
        rest = if let Some((c, after)) = decoded {
            out.push(c);
            after
        } else if let Some(after) = escape.strip_prefix("\\r") {
            out.push('\r');
            after
        } else if let Some(after) = escape.strip_prefix("\\n") {
            out.push('\n');
            after
        } else {
            let end = escape.char_indices().nth(2).map_or(escape.len(), |(i, _)| i);
            let (kept, after) = escape.split_at(end);
            out.push_str(kept);
            after
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_builds_and_the_list_is_complete() {
        for rule in &RULES {
            for name in rule.names {
                assert!(PRE_NAMES.split(", ").any(|n| n.trim() == *name), "{name} not in the list");
                PreTokenizer::by_name(Some(name)).unwrap().build().unwrap();
            }
            rule.build().unwrap();
        }
        let all: Vec<_> = PRE_NAMES.split(", ").map(str::trim).collect();
        assert!(all.iter().all(|n| PreTokenizer::by_name(Some(n)).is_ok()));
    }

    #[test]
    fn an_unknown_name_is_an_error_with_the_list() {
        let e = PreTokenizer::by_name(Some("martian")).unwrap_err().to_string();
        assert!(e.contains("martian") && e.contains("qwen2"), "{e}");
        assert_eq!(PreTokenizer::by_name(Some("")).unwrap().name(), "gpt-2");
        assert_eq!(PreTokenizer::by_name(None).unwrap().name(), "gpt-2");
    }

    #[test]
    fn a_rule_is_recognised_in_its_own_json() {
        for rule in &RULES {
            let json = serde_json::to_value(rule.build().unwrap()).unwrap();
            let nfc = rule.nfc.then(|| serde_json::json!({"type": "NFC"}));
            let found = recognise(Some(&json), nfc.as_ref(), rule.ignore_merges).unwrap();
            assert_eq!(found.steps, rule.steps);
            assert_eq!(found.nfc, rule.nfc);
        }
    }
}
