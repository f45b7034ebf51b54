"""Pools: what each library lists, as {name: () -> Entry}. Small configurations; weights are random."""
import importlib, inspect, pkgutil, warnings
import torch
from entry import Entry

warnings.filterwarnings('ignore')


def target_of(build, arguments, output):
    """Shape of the output at batch 2, where only a run on the CPU tells it."""
    model = build()
    model.eval()
    with torch.no_grad(): return tuple(output(model(**arguments)).shape[1:])


def first_tensor(out):
    """The tensor that a loss would read: the output, or the first tensor in it."""
    if torch.is_tensor(out): return out
    if isinstance(out, dict): out = list(out.values())
    for value in out:
        found = first_tensor(value) if isinstance(value, (list, tuple, dict)) else value
        if torch.is_tensor(found) and found.is_floating_point(): return found
    return None


def entry(name, library, build, arguments, batches=(2, 8)):
    """arguments: batch -> dict. A classifier's [B, C] takes cross entropy, all else mean squared error."""
    shape = target_of(build, arguments(2), first_tensor)
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


def classes_of(package, of_module=None):
    """Modules that a package's files define themselves."""
    found = {}
    root = importlib.import_module(package)
    for info in pkgutil.iter_modules(root.__path__, package + '.'):
        try: module = importlib.import_module(info.name)
        except Exception: continue
        for name, cls in vars(module).items():
            if inspect.isclass(cls) and issubclass(cls, torch.nn.Module) and cls.__module__ == info.name: found[info.name.split('.')[-1] + '_' + name] = cls
    return found


def vit_pytorch():
    values = dict(image_size=128, image_patch_size=16, patch_size=16, num_classes=100, dim=192, depth=4, heads=4, mlp_dim=512, dim_head=48, frames=8, frame_patch_size=2, image_height=128, image_width=128,
                  channels=3, seq_len=256, spatial_depth=2, temporal_depth=2, max_spatial_seq_len=256, max_temporal_seq_len=64, num_register_tokens=4)
    def one(name, cls):
        def made():
            build = lambda: filled(cls, values)
            shapes = [(3, 128, 128), (3, 8, 128, 128), (3, 256)]
            for shape in shapes:
                first = [*inspect.signature(cls.forward).parameters][1]
                try: return entry(f'vit_{name}', 'vit-pytorch', build, lambda b: {first: torch.randn(b, *shape)})
                except Exception as error: last = error
            raise last
        return made
    skipped = ('Attention', 'FeedForward', 'Transformer', 'Norm', 'Wrapper', 'Embed', 'Block', 'Recorder', 'Extractor', 'Distill')
    return {f'vit_{n}': one(n, c) for n, c in classes_of('vit_pytorch').items() if not any(s in n for s in skipped)
            and 'forward' in vars(c) and {'image_size', 'num_classes', 'image_height'} & set(inspect.signature(c).parameters)}


def braindecode():
    import braindecode.models as models
    values = dict(n_chans=22, n_outputs=4, n_times=1000, sfreq=250, input_window_seconds=4.0)
    def one(name, cls):
        return lambda: entry(f'eeg_{name}', 'braindecode', lambda: filled(cls, values), lambda b: {[*inspect.signature(cls.forward).parameters][1]: torch.randn(b, 22, 1000)}, (8, 64))
    return {f'eeg_{n}': one(n, c) for n, c in vars(models).items() if inspect.isclass(c) and issubclass(c, torch.nn.Module)}


def tsai():
    import tsai.models.all as models
    values = dict(c_in=6, c_out=5, seq_len=128, seq_length=128)
    def one(name, cls):
        return lambda: entry(f'ts_{name}', 'tsai', lambda: filled(cls, values), lambda b: {[*inspect.signature(cls.forward).parameters][1]: torch.randn(b, 6, 128)}, (16, 64))
    return {f'ts_{n}': one(n, c) for n, c in vars(models).items() if inspect.isclass(c) and issubclass(c, torch.nn.Module) and 'c_in' in inspect.signature(c).parameters}


def pytorchcv():
    from pytorchcv.model_provider import get_model
    from pytorchcv import model_provider
    names = list(vars(model_provider)['_models'])
    def one(name):
        return lambda: entry(f'cv_{name}', 'pytorchcv', lambda: get_model(name, pretrained=False), lambda b: {'x': torch.randn(b, 3, 224, 224)}, (2, 8))
    skipped = ('cub', 'cifar10', 'svhn', 'alphapose', 'simplepose', 'centernet', 'lwopenpose', 'quartznet', 'jasper', 'raft', 'cityscapes', 'voc', 'ade20k', 'coco', 'celeba')
    return {f'cv_{n}': one(n) for n in names if not any(s in n for s in skipped)}


def asteroid():
    import asteroid.models as models
    def one(name, cls):
        return lambda: entry(f'sep_{name}', 'asteroid', lambda: filled(cls, dict(n_src=2, sample_rate=8000, architecture='DCUNet-10', stft_n_filters=512, stft_kernel_size=512)), lambda b: {[*inspect.signature(cls.forward).parameters][1]: torch.randn(b, 8192)})
    return {f'sep_{n}': one(n, c) for n, c in vars(models).items() if inspect.isclass(c) and issubclass(c, torch.nn.Module)}


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
    return {f'audio_{n}': one(n, *m) for n, m in made.items()}


def neuralop():
    import neuralop.models as models
    grid = lambda b: {'x': torch.randn(b, 3, 32, 32)}
    made = {
        'FNO': (lambda: models.FNO(n_modes=(16, 16), in_channels=3, out_channels=1, hidden_channels=32), grid),
        'TFNO': (lambda: models.TFNO(n_modes=(16, 16), in_channels=3, out_channels=1, hidden_channels=32), grid),
        'UNO': (lambda: models.UNO(3, 1, hidden_channels=32, uno_out_channels=[32, 64, 32], uno_n_modes=[[8, 8]] * 3, uno_scalings=[[.5, .5], [1, 1], [2, 2]], n_layers=3), grid),
    }
    def one(name, build, arguments): return lambda: entry(f'op_{name}', 'neuraloperator', build, arguments)
    return {f'op_{n}': one(n, *m) for n, m in made.items()}


POOLS = {f.__name__: f for f in (vit_pytorch, braindecode, tsai, pytorchcv, asteroid, torchaudio, neuralop)}
