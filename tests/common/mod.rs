//! What the tests of this folder share: where data lies, the goldens' readers, one open device per process.
#![allow(dead_code)] // every test takes what it needs

use golay::engine::{AnswerOptions, Cancel, Engine, LoadOptions, Scorer, Session};
use golay::format::{Bytes, ModelFile, TensorSet, read_safetensors};
use golay::generate::SamplerParams;
use golay::gpu::{Caps, CapsRequest, Gpu, GpuError};
use golay::kernels::Tuning;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The folder with the wide sweeps: `$GOLAY_SHARED`, or `../shared` beside the repository. Says so when it is absent.
pub fn shared_dir() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("GOLAY_SHARED").map_or_else(beside, PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: {} is not there (the wide sweep)", dir.display());
    None
}

/// A file or folder of `tests/data`, which every clone has.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The goldens of an architecture: those of the clone, else those of the shared folder.
pub fn golden_dir(arch: &str) -> Option<PathBuf> {
    let own = data("goldens").join(arch);
    if own.join("model.safetensors").is_file() {
        return Some(own);
    }
    let dir = shared_dir()?.join("goldens").join(arch);
    if !dir.is_dir() {
        println!("skipped: {} is not there", dir.display());
        return None;
    }
    Some(dir)
}

/// SmolLM2-135M-Instruct as GGUF: `$GOLAY_TEST_GGUF`, or in the user's model cache.
pub fn smollm2_path() -> Option<PathBuf> {
    const NAME: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
    let home = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache/golay/models").join(NAME));
    let given = std::env::var_os("GOLAY_TEST_GGUF").map(PathBuf::from);
    let found = [given, home].into_iter().flatten().find(|p| p.is_file());
    if found.is_none() {
        println!("skipped: no {NAME}; ./x test fetches it, or set GOLAY_TEST_GGUF");
    }
    found
}

/// Tests that use the device go one by one: times and memory stay comparable, and two cores are not shared out.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The device (`$GOLAY_DEVICE` or the best), opened once per process and kind of caps; `None` on a machine without.
pub fn gpu(caps: CapsRequest) -> Option<Arc<Gpu>> {
    static OPEN: [OnceLock<Option<Arc<Gpu>>>; 2] = [OnceLock::new(), OnceLock::new()];
    let open = || {
        let device = std::env::var("GOLAY_DEVICE").ok();
        match pollster::block_on(Gpu::open(device.as_deref(), caps)) {
            Ok(gpu) => {
                println!("device: {} ({caps:?})", gpu.info.name);
                Some(gpu)
            }
            Err(GpuError::NoAdapter) => {
                println!("skipped: no adapter at all on this machine");
                None
            }
            Err(e) => panic!("{e}"),
        }
    };
    OPEN[usize::from(caps == CapsRequest::Baseline)].get_or_init(open).clone()
}

/// The geometry that GPUs get, whatever the adapter is.
pub fn gpu_tuning(gpu: &Gpu) -> Tuning {
    Tuning::for_caps(&Caps { cpu: false, ..gpu.caps.clone() })
}

/// Loads a model on an open device.
pub async fn engine(gpu: &Arc<Gpu>, file: ModelFile, options: &LoadOptions) -> Arc<Engine> {
    let spec = golay::model::read(&file).expect("a model");
    Engine::load_on(gpu.clone(), spec, file, options, &mut |_| {}).await.expect("an engine")
}

/// A safetensors file of expected values.
pub struct Goldens {
    /// Its tensors.
    pub set: TensorSet,
    /// `manifest.json` beside it.
    pub manifest: serde_json::Value,
}

impl Goldens {
    /// Opens `goldens.safetensors` and `manifest.json` of a folder.
    pub fn open(dir: &Path) -> Self {
        let set = open_safetensors(&dir.join("goldens.safetensors"));
        let manifest = std::fs::read(dir.join("manifest.json")).expect("manifest.json");
        Self { set, manifest: serde_json::from_slice(&manifest).expect("JSON") }
    }

    /// A number of the manifest's `tolerance`.
    pub fn tolerance(&self, key: &str) -> f64 {
        self.manifest["tolerance"][key].as_f64().expect("a tolerance")
    }

    /// An f32 tensor.
    pub fn f32s(&self, name: &str) -> Vec<f32> {
        f32s(&self.set, name)
    }

    /// An i32 tensor of ids or positions.
    pub fn ids(&self, name: &str) -> Vec<u32> {
        let bytes = self.set.data(self.set.get(name).expect(name));
        bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    }
}

/// Opens a safetensors file.
pub fn open_safetensors(path: &Path) -> TensorSet {
    let bytes = Bytes::open(path).expect("test data");
    read_safetensors(&path.display().to_string(), bytes).expect("test data")
}

/// An f32 tensor of a set.
pub fn f32s(set: &TensorSet, name: &str) -> Vec<f32> {
    let bytes = set.data(set.get(name).expect(name));
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Logits of `ids` at `positions`, `[positions, vocab]`.
pub async fn logits(scorer: &mut Scorer, ids: &[u32], positions: &[u32]) -> Vec<f32> {
    let mut out = Vec::new();
    let from = positions.iter().copied().min().unwrap_or(0) as usize;
    let mut each = |at: usize, row: &[f32]| {
        if positions.contains(&(at as u32)) {
            out.extend_from_slice(row);
        }
    };
    scorer.score(ids, from, &Cancel::default(), &mut each).await.expect("logits");
    out
}

/// The greedy continuation.
pub async fn greedy(session: &mut Session, prompt: &[u32], n: usize) -> Vec<u32> {
    let sampler = SamplerParams::greedy();
    let options = AnswerOptions { max_tokens: Some(n), sampler, ..Default::default() };
    let each = &mut |_| ControlFlow::Continue(());
    session.answer(prompt, &options, &Cancel::default(), &mut |_, _| {}, each).await.expect("an answer").ids
}

/// The largest difference; infinite when lengths differ or a value is NaN.
pub fn max_abs(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return f32::INFINITY;
    }
    let diff = |(x, y): (&f32, &f32)| (x - y).abs();
    a.iter().zip(b).map(diff).fold(0.0, |m, d| if d.is_nan() { f32::INFINITY } else { m.max(d) })
}

/// A folder that is removed at the end.
pub struct TempDir(pub PathBuf);

impl TempDir {
    /// An empty folder.
    pub fn new(what: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("golay-{what}-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary folder");
        Self(dir)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
