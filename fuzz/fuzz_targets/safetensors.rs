//! safetensors: one file, or an index and the shards `a` to `z`. What is read can be written and is then read the same.
#![no_main]

use golay_fuzz::format::{HfFolder, read_safetensors, write_safetensors};
use golay_fuzz::{check, files, same, tensors};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let parts = files(input);
    let read = if let [one] = parts[..] {
        read_safetensors("model.safetensors", one.to_vec().into())
    } else {
        let names = std::iter::once("model.safetensors.index.json".to_owned())
            .chain(('a'..='z').map(|c| format!("{c}.safetensors")));
        let mut folder: Vec<_> = names.zip(parts.iter().map(|p| p.to_vec())).collect();
        folder.push(("config.json".to_owned(), b"{}".to_vec()));
        HfFolder::from_files(folder).map(|f| f.tensors)
    };
    let set = match read {
        Ok(set) => set,
        Err(e) => {
            assert!(e.to_string().len() < 4096);
            return;
        }
    };
    check(&set);
    let notes: Vec<_> = set.notes().iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let written = write_safetensors(Vec::new(), &tensors(&set), &notes).expect("cannot be written");
    let again = read_safetensors("again.safetensors", written.into()).expect("cannot be read again");
    same(&set, &again);
    assert_eq!(set.notes(), again.notes());
});
