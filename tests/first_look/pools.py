"""Pools: what each library lists, as {name: () -> Entry}. Small configurations; weights are random."""
import importlib, inspect, pathlib, pkgutil, warnings
import torch
from entry import Entry

warnings.filterwarnings('ignore')


def first_tensor(out):
    """The tensor that a loss would read: the output, or the first tensor of floating numbers in it."""
    if torch.is_tensor(out): return out
    for value in out.values() if isinstance(out, dict) else out:
        found = first_tensor(value) if isinstance(value, (list, tuple, dict)) else value
        if torch.is_tensor(found) and found.is_floating_point(): return found
    return None


def entry(name, library, build, arguments, batches=(2, 8)):
    """arguments: batch -> dict. A classifier's [B, C] takes cross entropy, all else mean squared error."""
    with torch.no_grad(): shape = first_tensor(build().train()(**arguments(2))).shape[1:]
    classes = len(shape) == 1
    def inputs(batch):
        return arguments(batch), torch.zeros(batch, dtype=torch.long) if classes else torch.zeros(batch, *shape)
    return Entry(name, build, inputs, 'cross-entropy' if classes else 'mse', library, batches, first_tensor)


def filled(cls, values):
    """A call of `cls` with what it requires, and with what of `values` it knows."""
    known = {}
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.name in values: known[parameter.name] = values[parameter.name]
        elif parameter.default is inspect.Parameter.empty and parameter.kind == parameter.POSITIONAL_OR_KEYWORD: raise TypeError(f'no value for {parameter.name}')
    return cls(**known)


def of_classes(prefix, library, classes, values, shapes, batches=(2, 8)):
    """Classes by name that take one tensor: the first of `shapes` that the model takes."""
    def one(name, cls):
        argument = [*inspect.signature(cls.forward).parameters][1]
        for shape in shapes:
            try: return entry(prefix + name, library, lambda: filled(cls, values), lambda batch: {argument: torch.randn(batch, *shape)}, batches)
            except Exception as error: last = error
        raise last
    return {prefix + name: lambda name=name, cls=cls: one(name, cls) for name, cls in classes.items()}


def modules_in(namespace):
    return {name: c for name, c in vars(namespace).items() if inspect.isclass(c) and issubclass(c, torch.nn.Module)}


def vit_pytorch():
    values = dict(image_size=128, image_patch_size=16, patch_size=16, num_classes=100, dim=192, depth=4, heads=4, mlp_dim=512, dim_head=48, frames=8, frame_patch_size=2, image_height=128, image_width=128,
                  channels=3, seq_len=256, spatial_depth=2, temporal_depth=2, max_spatial_seq_len=256, max_temporal_seq_len=64, num_register_tokens=4)
    parts = ('Attention', 'FeedForward', 'Transformer', 'Norm', 'Wrapper', 'Embed', 'Block', 'Recorder', 'Extractor', 'Distill')
    classes = {}
    for info in pkgutil.iter_modules(importlib.import_module('vit_pytorch').__path__, 'vit_pytorch.'):
        try: module = importlib.import_module(info.name)
        except Exception: continue  # it needs a library that is not there
        for name, cls in modules_in(module).items():
            whole = cls.__module__ == info.name and 'forward' in vars(cls) and {'image_size', 'num_classes', 'image_height'} & set(inspect.signature(cls).parameters)
            if whole and not any(part in name for part in parts): classes[f"{info.name.split('.')[-1]}_{name}"] = cls
    return of_classes('vit_', 'vit-pytorch', classes, values, [(3, 128, 128), (3, 8, 128, 128), (3, 256)])


def braindecode():
    import braindecode.models as models
    values = dict(n_chans=22, n_outputs=4, n_times=1000, sfreq=250, input_window_seconds=4.0)
    return of_classes('eeg_', 'braindecode', modules_in(models), values, [(22, 1000)], (8, 64))


def asteroid():
    import asteroid.models as models
    values = dict(n_src=2, sample_rate=8000, architecture='DCUNet-10', stft_n_filters=512, stft_kernel_size=512)
    return of_classes('sep_', 'asteroid', modules_in(models), values, [(8192,)])


def pytorchcv():
    from pytorchcv import model_provider
    skipped = ('cub', 'cifar10', 'svhn', 'alphapose', 'simplepose', 'centernet', 'lwopenpose', 'quartznet', 'jasper', 'raft', 'cityscapes', 'voc', 'ade20k', 'coco', 'celeba')
    def one(name): return lambda: entry(f'cv_{name}', 'pytorchcv', lambda: model_provider.get_model(name, pretrained=False), lambda batch: {'x': torch.randn(batch, 3, 224, 224)})
    return {f'cv_{name}': one(name) for name in model_provider._models if not any(s in name for s in skipped)}


def torchaudio():
    import torchaudio.models as models
    lengths = lambda b, n: torch.full((b,), n)
    made = {
        'Conformer': (lambda: models.Conformer(80, 4, 256, 4, 31), lambda b: {'input': torch.randn(b, 200, 80), 'lengths': lengths(b, 200)}),
        'ConvTasNet': (lambda: models.ConvTasNet(), lambda b: {'input': torch.randn(b, 1, 8000)}),
        'DeepSpeech': (lambda: models.DeepSpeech(80, 512), lambda b: {'x': torch.randn(b, 1, 200, 80)}),
        'Wav2Letter': (lambda: models.Wav2Letter(num_features=1), lambda b: {'x': torch.randn(b, 1, 16000)}),
        'WaveRNN': (lambda: models.WaveRNN([5, 5, 8], 256, 200), lambda b: {'waveform': torch.randn(b, 1, 1800), 'specgram': torch.randn(b, 1, 128, 13)}),
        'HDemucs': (lambda: models.hdemucs_low(['drums', 'bass']), lambda b: {'input': torch.randn(b, 2, 22050)}),
        'Emformer': (lambda: models.Emformer(256, 4, 512, 4, 16, right_context_length=4), lambda b: {'input': torch.randn(b, 132, 256), 'lengths': lengths(b, 128)}),
        'wav2vec2_base': (lambda: models.wav2vec2_base(), lambda b: {'waveforms': torch.randn(b, 16000)}),
        'hubert_base': (lambda: models.hubert_base(), lambda b: {'waveforms': torch.randn(b, 16000)}),
        'Squim': (lambda: models.squim_objective_base(), lambda b: {'x': torch.randn(b, 16000)}),
        'Tacotron2': (lambda: models.Tacotron2(), lambda b: {'tokens': torch.zeros(b, 40, dtype=torch.long), 'token_lengths': lengths(b, 40), 'mel_specgram': torch.randn(b, 80, 60), 'mel_specgram_lengths': lengths(b, 60)}),
    }
    def one(name, build, arguments): return lambda: entry(f'audio_{name}', 'torchaudio', build, arguments)
    return {f'audio_{name}': one(name, *m) for name, m in made.items()}


def spandrel():
    import spandrel.architectures as architectures
    values = dict(dim=64, image_size=64, input_image_size=64, num_in_ch=3, num_out_ch=3)
    classes = {}
    for info in pkgutil.iter_modules(architectures.__path__, 'spandrel.architectures.'):
        classes.update(modules_in(importlib.import_module(info.name)))
    return of_classes('sr_', 'spandrel', classes, values, [(3, 64, 64), (3, 128, 128), (1, 64, 64), (4, 64, 64)], (1, 4))


def ultralytics():
    import ultralytics
    from ultralytics.nn import tasks
    kinds = {'cls': tasks.ClassificationModel, 'seg': tasks.SegmentationModel, 'pose': tasks.PoseModel, 'obb': tasks.OBBModel}
    folder = pathlib.Path(ultralytics.__file__).parent / 'cfg/models'
    def one(path):
        kind = next((kinds[k] for k in kinds if f'-{k}' in path.stem), tasks.DetectionModel)
        return lambda: entry('yolo_' + path.stem, 'ultralytics', lambda: kind(str(path), verbose=False), lambda batch: {'x': torch.rand(batch, 3, 256, 256)})
    return {'yolo_' + path.stem: one(path) for path in folder.glob('*/*.yaml') if not any(s in path.stem for s in ('yoloe', 'world', 'depth', 'sem'))}


def tsai():
    import tsai.models.all as models
    values = dict(c_in=7, c_out=5, seq_len=96, pred_dim=24, d_in=7)
    skipped = ('ROCKET', 'Rocket', 'Hydra', 'Tab', 'Multi', 'Block', 'Layer', 'Head', 'backbone', 'Backbone')
    classes = {name: cls for name, cls in modules_in(models).items() if cls.__module__.startswith('tsai.models') and 'c_in' in inspect.signature(cls).parameters and not any(s in name for s in skipped)}
    return of_classes('ts_', 'tsai', classes, values, [(7, 96)], (16, 128))


def deepctr():
    import deepctr_torch.models as models
    from deepctr_torch.inputs import DenseFeat, SparseFeat
    columns = [SparseFeat(f's{k}', vocabulary_size=1000 * (k + 1), embedding_dim=16) for k in range(6)] + [DenseFeat(f'd{k}', 1) for k in range(4)]
    def one(name, cls):
        parameters = inspect.signature(cls).parameters
        fields = [p for p in parameters if p.endswith('_feature_columns')]
        more = dict(task_types=('binary', 'binary'), task_names=('a', 'b')) if 'task_types' in parameters else {}
        return lambda: entry('ctr_' + name, 'deepctr-torch', lambda: cls(**{f: columns for f in fields}, **more), lambda batch: {'X': torch.rand(batch, len(columns))}, (256, 4096))
    return {'ctr_' + name: one(name, cls) for name, cls in modules_in(models).items() if 'history_feature_list' not in inspect.signature(cls).parameters}


POOLS = {f.__name__: f for f in (vit_pytorch, braindecode, pytorchcv, asteroid, torchaudio, spandrel, ultralytics, tsai, deepctr)}
