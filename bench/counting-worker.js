// The product's worker, with its WebGPU calls counted as a page's are where a benchmark traces them. The counts leave just before each message.
const calls = { dispatch: 0, pass: 0, submit: 0, map: 0, write: 0, writeBytes: 0, bindGroup: 0, buffer: 0, copy: 0, pipeline: 0, wgslBytes: 0, barrierShaders: 0, shaders: 0, pipelineMs: 0 };

const count = (type, method, note) => {
  const prototype = globalThis[type]?.prototype;
  const original = prototype?.[method];
  if (!original) return;
  prototype[method] = function (...all) {
    note(...all);
    return original.apply(this, all);
  };
};
count('GPUComputePassEncoder', 'dispatchWorkgroups', () => calls.dispatch++);
count('GPUComputePassEncoder', 'dispatchWorkgroupsIndirect', () => calls.dispatch++);
count('GPUCommandEncoder', 'beginComputePass', () => calls.pass++);
count('GPUCommandEncoder', 'copyBufferToBuffer', () => calls.copy++);
count('GPUQueue', 'submit', () => calls.submit++);
count('GPUQueue', 'writeBuffer', (_buffer, _offset, data, _from, size) => {
  calls.write++;
  calls.writeBytes += size ?? data.byteLength;
});
count('GPUBuffer', 'mapAsync', () => calls.map++);
count('GPUDevice', 'createBindGroup', () => calls.bindGroup++);
count('GPUDevice', 'createBuffer', () => calls.buffer++);
count('GPUDevice', 'createComputePipeline', () => calls.pipeline++);
count('GPUDevice', 'createComputePipelineAsync', () => calls.pipeline++);
count('GPUDevice', 'createShaderModule', (descriptor) => {
  calls.shaders++;
  calls.wgslBytes += descriptor.code.length;
  if (/workgroupBarrier|workgroupUniformLoad/.test(descriptor.code)) calls.barrierShaders++;
});

const post = self.postMessage.bind(self);
self.postMessage = (...all) => {
  post({ gpuCalls: { ...calls } });
  post(...all);
};
await import(`./${decodeURIComponent(location.search.slice(1))}`);
