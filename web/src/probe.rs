//! The smallest use of the device: one kernel, one read-back.

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    x[id.x] = x[id.x] * 3u + id.x;
}";
const N: u32 = 256;

/// Runs the kernel and checks it; the adapter in words.
pub async fn run() -> Result<String, String> {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::BROWSER_WEBGPU;
    let instance = wgpu::Instance::new(desc);
    let adapter = instance
        .request_adapter(&wgpu::RequestAdapterOptions::default())
        .await
        .map_err(|e| format!("no WebGPU adapter: {e}"))?;
    let (device, queue) = adapter
        .request_device(&wgpu::DeviceDescriptor::default())
        .await
        .map_err(|e| format!("no WebGPU device: {e}"))?;

    let size = u64::from(N) * 4;
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let x =
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let back =
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let input: Vec<u8> = (0..N).flat_map(|i| (i + 7).to_le_bytes()).collect();
    queue.write_buffer(&x, 0, &input);

    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("probe"),
        source: wgpu::ShaderSource::Wgsl(SHADER.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("probe"),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: x.as_entire_binding() }],
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(N / 64, 1, 1);
    }
    encoder.copy_buffer_to_buffer(&x, 0, &back, 0, size);
    queue.submit([encoder.finish()]);

    let (send, receive) = futures_channel::oneshot::channel();
    back.map_async(wgpu::MapMode::Read, .., move |r| drop(send.send(r)));
    receive.await.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
    let view = back.get_mapped_range(..).map_err(|e| e.to_string())?;
    for (i, word) in view.chunks_exact(4).enumerate() {
        let (i, got) = (i as u32, u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        if got != (i + 7) * 3 + i {
            return Err(format!("element {i}: expected {}, found {got}", (i + 7) * 3 + i));
        }
    }
    let info = adapter.get_info();
    Ok(format!(
        "{:?}, {:?}, subgroups {}..{}",
        info.backend, info.device_type, info.subgroup_min_size, info.subgroup_max_size
    ))
}
