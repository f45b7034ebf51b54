"""An entry: a model, its inputs and its loss, and what is done with it: measured by PyTorch's counters, and exported."""
import contextlib, dataclasses, gc, gzip, os, tempfile, typing
import torch, torch.nn.functional as F


@dataclasses.dataclass
class Entry:
    name: str
    build: typing.Callable                    # () -> module on the CPU
    inputs: typing.Callable                   # batch -> (dict of forward's arguments, target), on the CPU
    loss: str                                 # a key of LOSSES
    library: str = 'by hand'
    batches: tuple = (2, 8)
    output: typing.Callable = lambda out: out  # the tensor of the output that the loss reads


def cross_entropy(out, target):
    """Of language models [B, S, V] over all positions; of others classes are the second axis."""
    return F.cross_entropy(out.flatten(0, 1), target.flatten()) if out.dim() == 3 and out.shape[:2] == target.shape else F.cross_entropy(out, target)


LOSSES = {
    'cross-entropy': cross_entropy,
    'mse': F.mse_loss,
    'l1': F.l1_loss,
    'bce-logits': F.binary_cross_entropy_with_logits,
}
HALF = {'fp16': torch.half, 'bf16': torch.bfloat16}


def on_card(value):
    return {k: v.cuda() if torch.is_tensor(v) else v for k, v in value.items()} if isinstance(value, dict) else value.cuda()


def cast(arguments, dtype):
    return {k: v.to(dtype) if torch.is_tensor(v) and v.is_floating_point() else v for k, v in arguments.items()}


def sizes(entry):
    """Elements of all parameters, and of those that are trained; globs of those that are not, by their names in the file; bytes of all buffers."""
    torch.manual_seed(0)
    model = entry.build()
    parameters = list(model.parameters())
    globs = []
    def visit(module, path):
        own = list(module.named_parameters())
        if own and not any(p.requires_grad for _, p in own): globs.append(f'{path}.*')
        else:
            globs.extend(f'{path}.{name}' for name, p in module.named_parameters(recurse=False) if not p.requires_grad)
            for name, child in module.named_children(): visit(child, f'{path}.{name}')
    visit(model, 'model')
    return sum(p.numel() for p in parameters), sum(p.numel() for p in parameters if p.requires_grad), ' '.join(globs), sum(b.nbytes for b in model.buffers())


def peak(entry, batch, mode, precision, seed=0):
    """Requested bytes at the peak of the last of three training steps (Adam, foreach), or of the second of two forwards."""
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    dtype = HALF.get(precision, torch.float32)
    amp = HALF.get(precision.removeprefix('amp-')) if precision.startswith('amp-') else None
    torch.manual_seed(0)
    model = entry.build().to(dtype).cuda()
    torch.manual_seed(seed)
    model.train(mode == 'train')
    arguments, target = entry.inputs(batch)
    arguments = on_card(cast(arguments, dtype))
    target = target.cuda()
    if target.is_floating_point(): target = target.to(dtype)
    autocast = (lambda: torch.autocast('cuda', dtype=amp)) if amp else contextlib.nullcontext
    if mode == 'infer':
        with torch.no_grad(), autocast():
            for _ in range(2):
                torch.cuda.reset_peak_memory_stats()
                out = model(**arguments)
                if target.is_floating_point() and target.shape != entry.output(out).shape:  # of train(), which gives something else
                    target = torch.zeros(entry.output(out).shape, dtype=target.dtype, device='cuda')
        return torch.cuda.memory_stats()['requested_bytes.all.peak']
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    scaler = torch.amp.GradScaler('cuda') if amp == torch.half else None
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        with autocast():
            out = model(**arguments)
            loss = LOSSES[entry.loss](entry.output(out), target)
        (scaler.scale(loss) if scaler else loss).backward()
        if scaler: scaler.step(optimizer); scaler.update()
        else: optimizer.step()
        optimizer.zero_grad()
    return torch.cuda.memory_stats()['requested_bytes.all.peak']


def tensors_in(out):
    """All tensors of an output, in their order."""
    if torch.is_tensor(out): return (out,)
    values = out.values() if isinstance(out, dict) else out if isinstance(out, (list, tuple)) else ()
    return tuple(tensor for value in values for tensor in tensors_in(value))


class Named(torch.nn.Module):
    """Hands positional arguments on by name, and all tensors of the output back, since the caller holds them all."""
    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        return tensors_in(self.model(**dict(zip(self.names, values))))


def without_weights(path):
    """The file as those who keep weights beside it have it: values of at most 256 numbers stay."""
    import onnx
    model = onnx.load(path, load_external_data=False)
    offset = 0
    bytes_of = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}
    def strip(tensors):
        nonlocal offset
        for tensor in tensors:
            count = 1
            for dim in tensor.dims: count *= dim
            if count <= 256 and tensor.data_location != onnx.TensorProto.EXTERNAL: continue
            for field in ('raw_data', 'float_data', 'int32_data', 'int64_data', 'double_data', 'uint64_data'): tensor.ClearField(field)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            del tensor.external_data[:]
            length = count * bytes_of.get(tensor.data_type, 4)
            for key, value in (('location', 'weights.bin'), ('offset', offset), ('length', length)):
                pair = tensor.external_data.add()
                pair.key, pair.value = key, str(value)
            offset += length
    def walk(graph):
        strip(graph.initializer)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH: walk(attribute.g)
    walk(model.graph)
    return model


def without_lines(model):
    """As from an exporter that was told to keep no stack traces."""
    for node in model.graph.node:
        for k in reversed(range(len(node.metadata_props))):
            if node.metadata_props[k].key == 'pkg.torch.onnx.stack_trace': del node.metadata_props[k]
    return model


VARIANTS = ('ts-train', 'ts-eval', 'dynamo-train', 'dynamo-eval')


def export(entry, variant, path):
    """The file of one exporter in one mode, gzipped, without weights; dynamo-eval is without its source lines, too."""
    torch.manual_seed(0)
    model = entry.build()
    exporter, mode = variant.split('-')
    arguments, _ = entry.inputs(2)
    names = list(arguments)
    model = Named(model, names)
    model.train(mode == 'train')
    batched = {n: torch.is_tensor(v) and v.dim() > 0 and v.shape[0] == 2 for n, v in arguments.items()}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, 'model.onnx')
        if exporter == 'ts':
            torch.onnx.export(model, tuple(arguments.values()), file, dynamo=False, opset_version=17, do_constant_folding=mode == 'eval', input_names=names, output_names=['output'],
                              training=torch.onnx.TrainingMode.TRAINING if mode == 'train' else torch.onnx.TrainingMode.EVAL,
                              dynamic_axes={**{n: {0: 'batch'} for n in names if batched[n]}, 'output': {0: 'batch'}})
        else:
            batch = torch.export.Dim('batch', min=1, max=65536)
            torch.onnx.export(model, tuple(arguments.values()), file, dynamo=True, input_names=names, output_names=['output'], external_data=True, verbose=False,
                              dynamic_shapes=(tuple({0: batch} if batched[n] else {} for n in names),))
        proto = without_weights(file)
        if variant == 'dynamo-eval': proto = without_lines(proto)
        with gzip.open(path, 'wb', compresslevel=9) as out: out.write(proto.SerializeToString())
