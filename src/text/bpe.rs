//! Building the crate's rank-ordered BPE from lists that may be wrong.
//!
//! The `tokenizers` crate trusts its input: a merge longer than the longest token of the vocabulary makes it panic. So
//! what it would not survive is looked for here first.

use std::collections::HashMap;

use tokenizers::models::bpe::{BPE, Vocab};

use super::error::{TextError, clip};
use super::json_file::MergeEntry;

/// The two halves of a merge.
pub(super) type Merge = (String, String);

/// Splits a merge into its halves.
pub(super) fn split_merge(index: usize, merge: MergeEntry) -> Result<Merge, TextError> {
    match merge {
        MergeEntry::Pair(a, b) => Ok((a, b)),
        MergeEntry::Text(text) => split_merge_text(index, &text),
    }
}

/// As [`split_merge`], for the form `"a b"`.
pub(super) fn split_merge_text(index: usize, text: &str) -> Result<Merge, TextError> {
    match text.split_once(' ') {
        Some((a, b)) if !a.is_empty() && !b.is_empty() && !b.contains(' ') => {
            Ok((a.to_owned(), b.to_owned()))
        }
        _ => Err(TextError::BadMerge {
            index,
            merge: clip(text),
            reason: "expected two tokens with one space between".to_owned(),
        }),
    }
}

/// Switches of the BPE model.
#[derive(Default)]
pub(super) struct BpeOptions {
    pub(super) unknown: Option<String>,
    pub(super) fuse_unknown: bool,
    pub(super) byte_fallback: bool,
    pub(super) ignore_merges: bool,
}

/// Builds the model. Tokens in `withheld` (control tokens) can never be the result of merging: merges that touch them
/// are left out. `again` gives the merges a second time, to name the bad one when there is one.
pub(super) fn build_bpe(
    vocab: Vocab,
    withheld: &HashMap<&str, u32>,
    mut merges: Vec<Merge>,
    again: impl Fn() -> Result<Vec<Merge>, TextError>,
    options: BpeOptions,
) -> Result<BPE, TextError> {
    let longest = vocab.keys().map(String::len).max().unwrap_or(0);
    if merges.iter().any(|(a, b)| a.len().saturating_add(b.len()) > longest) {
        return Err(bad_merge(again()?, &|t| vocab.contains_key(t) || withheld.contains_key(t)));
    }
    // Almost no merge begins like a control token; only those that do are looked up.
    let mut first = [false; 256];
    for byte in withheld.keys().filter_map(|t| t.bytes().next()) {
        if let Some(slot) = first.get_mut(usize::from(byte)) {
            *slot = true;
        }
    }
    let suspect =
        |t: &str| t.bytes().next().is_some_and(|b| first.get(usize::from(b)).copied().unwrap_or(false));
    merges.retain(|(a, b)| {
        !(suspect(a)
            && (withheld.contains_key(a.as_str()) || withheld.contains_key(format!("{a}{b}").as_str()))
            || suspect(b) && withheld.contains_key(b.as_str()))
    });
    let unknown = options.unknown.filter(|u| vocab.contains_key(u.as_str()));
    let mut builder = BPE::builder()
        .vocab_and_merges(vocab, merges)
        .byte_fallback(options.byte_fallback)
        .fuse_unk(options.fuse_unknown)
        .ignore_merges(options.ignore_merges);
    if let Some(unknown) = unknown {
        builder = builder.unk_token(unknown);
    }
    builder.build().map_err(|e| {
        // The crate names the token that is missing, in back quotes; the reader wants to know the merge too.
        let message = e.to_string();
        let missing = message.split('`').nth(1).unwrap_or_default();
        match again() {
            Ok(merges) => bad_merge(merges, &|t| t != missing),
            Err(e) => e,
        }
    })
}

/// The error for the first merge that the vocabulary does not hold.
fn bad_merge(merges: Vec<Merge>, known: &dyn Fn(&str) -> bool) -> TextError {
    for (index, (a, b)) in merges.into_iter().enumerate() {
        let joined = format!("{a}{b}");
        if let Some(part) = [&a, &b, &joined].into_iter().find(|p| !known(p)) {
            let reason = format!("`{}` is not in the vocabulary", clip(part));
            return TextError::BadMerge { index, merge: clip(&format!("{a} {b}")), reason };
        }
    }
    TextError::Engine("a merge refers to a token that is not in the vocabulary".to_owned())
}
