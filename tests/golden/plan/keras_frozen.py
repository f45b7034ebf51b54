"""net.onnx at batch 96 on Tesla T4, by vramplan, for Keras 3.

    configure()
    with rematerialisation():
        model = ...
    model.compile(optimizer=optimizer(learning_rate=...), loss=...)
    model.fit(x, y, batch_size=BATCH)

What Keras cannot be told, or does otherwise:
- the plan was replayed with PyTorch's operators and allocator; TensorFlow, JAX and XLA allocate
  otherwise, so that the batch is a place to start from and not a promise
- a fused optimizer: there is no such switch
- the modules to checkpoint are those of the file; layers are found by their own names, so write the
  names of your layers into LAYERS
- the parameters that are trained have the names of the file; write those of your variables (variable.path
  with dots) into TRAINED, and call freeze(model) before compile()
"""
import contextlib
import fnmatch

import keras

BATCH = 96
ACCUMULATE = 4
LAYERS = [
    "m.h.0",
    "m.h.1",
]
# Which parameters are trained, by globs over their names: the last that matches decides.
TRAINED = [
    ("*", False),
    ("*.lora_*", True),
    ("a\"b\\c\x0a", True),
]


def configure():
    """Before the model is built."""
    keras.config.set_dtype_policy("mixed_float16")  # compile() scales the loss by itself


def rematerialisation():
    """Around the construction of the model."""
    if not LAYERS:
        return contextlib.nullcontext()
    return keras.RematScope(mode="list_of_layers", layer_names=LAYERS)


def freeze(model):
    """After the model is built and before compile(): which variables are trained."""
    for variable in list(model.trainable_variables):
        for glob, is_trained in TRAINED:
            if fnmatch.fnmatchcase(variable.path.replace("/", "."), glob):
                variable.trainable = is_trained


def optimizer(**options):
    """The optimizer of the plan; give learning_rate=..."""
    return keras.optimizers.AdamW(**{**dict(weight_decay=0.01, gradient_accumulation_steps=ACCUMULATE), **options})
