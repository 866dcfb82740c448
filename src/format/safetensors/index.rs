//! Models over several safetensors files: `model.safetensors.index.json` says which tensor is where.

use indexmap::IndexMap;
use serde::Deserialize;

use super::super::bytes::Bytes;
use super::super::error::{FormatError, show};
use super::super::json::{UniqueMap, json_error};
use super::super::tensors::TensorSet;
use super::parse;

/// The name of the index.
pub(in super::super) const INDEX: &str = "model.safetensors.index.json";

#[derive(Deserialize)]
struct Index {
    weight_map: UniqueMap<String>,
}

/// Reads the files that an index names. `open` gives a file of the folder, or `None` when it is not there.
pub(in super::super) fn read_sharded(
    index_file: &str,
    index: &[u8],
    mut open: impl FnMut(&str) -> Result<Option<(String, Bytes)>, FormatError>,
) -> Result<TensorSet, FormatError> {
    let Index { weight_map: UniqueMap(weights) } =
        serde_json::from_slice(index).map_err(|e| json_error(index_file, &e))?;
    let mut numbers: IndexMap<&str, usize> = IndexMap::new();
    for shard in weights.values() {
        check_name(index_file, shard)?;
        let next = numbers.len();
        numbers.entry(shard).or_insert(next);
    }
    let mut shards = Vec::with_capacity(numbers.len());
    let mut infos = Vec::with_capacity(weights.len());
    let mut notes = Vec::new();
    for (&name, &number) in &numbers {
        let Some((file, bytes)) = open(name)? else {
            return Err(FormatError::MissingFile { folder: index_file.to_owned(), expected: show(name) });
        };
        let parsed = parse(&file, &bytes)?;
        notes.extend(parsed.notes);
        for mut tensor in parsed.tensors {
            // A tensor that the index puts elsewhere, or does not know, is not this model's.
            if weights.get(&tensor.name).is_some_and(|s| s == name) {
                tensor.shard = number;
                infos.push(tensor);
            }
        }
        shards.push((file, bytes));
    }
    let set = TensorSet::new(shards, infos)?;
    for (tensor, shard) in &weights {
        if set.get(tensor).is_none() {
            return Err(FormatError::Shard {
                file: index_file.to_owned(),
                what: format!("tensor {}", show(tensor)),
                expected: format!("it in {}, as the index says", show(shard)),
                found: "a file without it".to_owned(),
            });
        }
    }
    Ok(set.with_notes(notes))
}

/// A shard is a file of the same folder. Anything that could lead out of it is refused on every system, so that a
/// folder that is safe here is safe elsewhere too.
fn check_name(index_file: &str, shard: &str) -> Result<(), FormatError> {
    let outside = shard.contains(['/', '\\', ':', '\0']) || shard.starts_with('.');
    if outside || !shard.ends_with(".safetensors") {
        return Err(FormatError::Shard {
            file: index_file.to_owned(),
            what: "name of a shard".to_owned(),
            expected: "a plain file name that ends in .safetensors, without a path".to_owned(),
            found: show(shard),
        });
    }
    Ok(())
}
