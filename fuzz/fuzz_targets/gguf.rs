//! GGUF, whole and split. What is read can be written and is then read the same.
#![no_main]

use golay_fuzz::format::{Gguf, write_gguf};
use golay_fuzz::{check, files, same, tensors};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let parts = files(input).iter().enumerate().map(|(i, f)| (format!("{i}.gguf"), f.to_vec())).collect();
    let g = match Gguf::from_files(parts) {
        Ok(g) => g,
        Err(e) => {
            assert!(e.to_string().len() < 4096);
            return;
        }
    };
    check(&g.tensors);
    for (key, value) in g.metadata.iter() {
        assert!(value.to_string().len() < 4096);
        // Any answer will do, as long as there is one.
        let m = &g.metadata;
        let _ = (m.u64(key), m.f64(key), m.bool(key), m.str(key), m.strings(key), m.f32s(key), m.ints(key));
        let _ = m.per_layer(key, 7);
    }
    let written = write_gguf(Vec::new(), &g.metadata, &tensors(&g.tensors)).expect("cannot be written");
    let again = Gguf::from_files(vec![("again.gguf".to_owned(), written)]);
    match again {
        Ok(again) => same(&g.tensors, &again.tensors),
        // The one part that the writer makes still says that it is one of several.
        Err(e) => assert!(e.to_string().contains("split"), "{e}"),
    }
});
