//! A model in the page.

use crate::js_error;
use golay::engine::{AnswerOptions, Cancel, Engine, LoadOptions, Session};
use golay::format::ModelFile;
use golay::generate::SamplerParams;
use std::ops::ControlFlow;
use std::sync::Arc;
use wasm_bindgen::prelude::*;

/// A model on the browser's adapter.
#[wasm_bindgen]
pub struct Model {
    engine: Arc<Engine>,
}

#[wasm_bindgen]
impl Model {
    /// Loads the files of a model, given as names and contents in the same order: a GGUF, or what lies in a Hugging
    /// Face folder. Uses all that the adapter offers.
    pub async fn load(names: Vec<String>, files: Vec<js_sys::Uint8Array>) -> Result<Model, JsError> {
        if names.len() != files.len() {
            return Err(JsError::new(&format!("{} names for {} files", names.len(), files.len())));
        }
        let files = names.into_iter().zip(files.iter().map(js_sys::Uint8Array::to_vec)).collect();
        let file = ModelFile::from_files(files).map_err(js_error)?;
        let engine = Engine::load(file, &LoadOptions::default(), &mut |_| {}).await.map_err(js_error)?;
        Ok(Self { engine })
    }

    /// The most probable continuation of `ids` by `count` ids, in a sequence of its own. `each` gets every id as
    /// soon as it is known.
    pub async fn greedy(
        &self,
        ids: Vec<u32>,
        count: usize,
        each: js_sys::Function,
    ) -> Result<Vec<u32>, JsError> {
        let engine = self.engine.clone();
        let mut session = Session::new(&engine).await.map_err(js_error)?;
        let options = AnswerOptions {
            max_tokens: Some(count),
            sampler: SamplerParams { temperature: 0.0, ..Default::default() },
            ..Default::default()
        };
        let mut on_id = |id: u32| {
            drop(each.call1(&JsValue::NULL, &JsValue::from(id)));
            ControlFlow::Continue(())
        };
        let answer = session.answer(&ids, &options, &Cancel::default(), &mut |_, _| {}, &mut on_id).await;
        Ok(answer.map_err(js_error)?.ids)
    }
}
