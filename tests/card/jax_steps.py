"""jax_steps.py [MODEL...]: what a training step of JAX takes, for models of models/ written again in JAX (fp32, jit of the whole step).

Prints rows "model,batch,optimizer,donate,arguments,outputs,aliased,temporaries,peak": the first four sizes are what XLA's compiler
says of the program (memory_analysis), the last is the allocator's peak_bytes_in_use after two steps, in a process of its own.
"""
import functools
import os
import subprocess
import sys

ROWS = [  # model, batch, optimizer, donate
    ("mlp", 512, "sgd", 0), ("mlp", 512, "adam", 0), ("mlp", 512, "adam", 1),
    ("gpt_small", 8, "sgd", 0), ("gpt_small", 8, "adam", 0), ("gpt_small", 8, "adam", 1),
    ("unet", 8, "sgd", 0), ("unet", 8, "adam", 0), ("unet", 8, "adam", 1),
    ("resnet50", 32, "sgd", 0), ("resnet50", 32, "adam", 0), ("resnet50", 32, "adam", 1),
]


def measure(model, batch, optimizer, donate):
    import jax
    import jax.numpy as jnp
    import optax

    count = iter(range(10000))

    def new(*shape):
        return jax.random.normal(jax.random.PRNGKey(next(count)), shape, jnp.float32) * 0.02

    def layer_norm(p, x):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[0] + p[1]

    def conv(w, x, stride=1):
        return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))

    def batch_norm(p, x):  # training: the batch's own statistics
        mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p[0][:, None, None] + p[1][:, None, None]

    def norm_of(c):
        return [jnp.ones(c), jnp.zeros(c)]

    def max_pool(x, size, stride, padding="VALID"):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, size, size), (1, 1, stride, stride), padding)

    def mlp():
        sizes = [1000, 2000, 1000, 10]
        p = [[new(i, o), jnp.zeros(o)] for i, o in zip(sizes, sizes[1:])]

        def forward(p, x):
            for i, (w, b) in enumerate(p):
                x = x @ w + b
                if i < len(p) - 1:
                    x = jax.nn.relu(x)
            return x
        return p, forward, jnp.zeros((batch, 1000))

    def gpt_small(d=512, heads=8, layers=8, words=50257, length=512):
        block = lambda: dict(n1=norm_of(d), qkv=[new(d, 3 * d), jnp.zeros(3 * d)], out=[new(d, d), jnp.zeros(d)], n2=norm_of(d),
                             up=[new(d, 4 * d), jnp.zeros(4 * d)], down=[new(4 * d, d), jnp.zeros(d)])
        p = dict(words=new(words, d), places=new(1024, d), blocks=[block() for _ in range(layers)], norm=norm_of(d))

        def forward(p, x):
            h = p["words"][x] + p["places"][: x.shape[1]]
            causal = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
            for b in p["blocks"]:
                q, k, v = jnp.split(layer_norm(b["n1"], h) @ b["qkv"][0] + b["qkv"][1], 3, -1)
                q, k, v = (t.reshape(*t.shape[:2], heads, -1).transpose(0, 2, 1, 3) for t in (q, k, v))
                scores = jnp.where(causal, q @ k.swapaxes(-1, -2) * (d // heads) ** -0.5, -jnp.inf)
                a = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(h.shape)
                h = h + a @ b["out"][0] + b["out"][1]
                m = jax.nn.gelu(layer_norm(b["n2"], h) @ b["up"][0] + b["up"][1], approximate=False)
                h = h + m @ b["down"][0] + b["down"][1]
            return layer_norm(p["norm"], h) @ p["words"].T
        return p, forward, jnp.zeros((batch, length), jnp.int32)

    def unet(top=64):
        double = lambda i, o: [new(o, i, 3, 3), norm_of(o), new(o, o, 3, 3), norm_of(o)]
        widths = [top * 2**i for i in range(5)]
        p = dict(stem=double(3, top), down=[double(i, o) for i, o in zip(widths, widths[1:])],
                 up=[(new(2 * o, o, 2, 2), jnp.zeros(o), double(2 * o, o)) for o in reversed(widths[:-1])], head=[new(1, top, 1, 1), jnp.zeros(1)])

        def twice(p, x):
            x = jax.nn.relu(batch_norm(p[1], conv(p[0], x)))
            return jax.nn.relu(batch_norm(p[3], conv(p[2], x)))

        def forward(p, x):
            x, skips = twice(p["stem"], x), []
            for level in p["down"]:
                skips.append(x)
                x = twice(level, max_pool(x, 2, 2))
            for (w, b, level), skip in zip(p["up"], reversed(skips)):
                x = jax.lax.conv_transpose(x, w, (2, 2), "VALID", dimension_numbers=("NCHW", "IOHW", "NCHW")) + b[:, None, None]
                x = twice(level, jnp.concatenate([skip, x], 1))
            return conv(p["head"][0], x) + p["head"][1][:, None, None]
        return p, forward, jnp.zeros((batch, 3, 256, 256))

    def resnet50():
        def bottleneck(i, width, stride):
            p = [new(width, i, 1, 1), norm_of(width), new(width, width, 3, 3), norm_of(width), new(4 * width, width, 1, 1), norm_of(4 * width)]
            return p + ([new(4 * width, i, 1, 1), norm_of(4 * width)] if i != 4 * width else []), stride
        blocks, i = [], 64
        for width, number, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for n in range(number):
                blocks.append(bottleneck(i, width, stride if n == 0 else 1))
                i = 4 * width
        strides = [s for _, s in blocks]
        p = dict(stem=[new(64, 3, 7, 7), norm_of(64)], blocks=[b for b, _ in blocks], head=[new(2048, 1000), jnp.zeros(1000)])

        def forward(p, x):
            x = max_pool(jax.nn.relu(batch_norm(p["stem"][1], conv(p["stem"][0], x, 2))), 3, 2, "SAME")
            for b, stride in zip(p["blocks"], strides):
                h = jax.nn.relu(batch_norm(b[1], conv(b[0], x)))
                h = jax.nn.relu(batch_norm(b[3], conv(b[2], h, stride)))
                h = batch_norm(b[5], conv(b[4], h))
                x = jax.nn.relu(h + (batch_norm(b[7], conv(b[6], x, stride)) if len(b) == 8 else x))
            return x.mean((2, 3)) @ p["head"][0] + p["head"][1]
        return p, forward, jnp.zeros((batch, 3, 224, 224))

    parameters, forward, x = {"mlp": mlp, "gpt_small": gpt_small, "unet": unet, "resnet50": resnet50}[model]()
    rule = {"sgd": optax.sgd(0.1), "adam": optax.adam(1e-4)}[optimizer]
    states = rule.init(parameters)

    @functools.partial(jax.jit, donate_argnums=(0, 1) if donate else ())
    def step(parameters, states, x):
        loss, gradients = jax.value_and_grad(lambda p: (forward(p, x) ** 2).mean())(parameters)
        updates, states = rule.update(gradients, states, parameters)
        return optax.apply_updates(parameters, updates), states, loss

    compiled = step.lower(parameters, states, x).compile()
    sizes = compiled.memory_analysis()
    for _ in range(2):
        parameters, states, loss = compiled(parameters, states, x)
    loss.block_until_ready()
    peak = (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", -1)
    print(f"{model},{batch},{optimizer},{donate},{sizes.argument_size_in_bytes},{sizes.output_size_in_bytes},{sizes.alias_size_in_bytes},"
          f"{sizes.temp_size_in_bytes},{peak}", flush=True)


if len(sys.argv) == 5:
    measure(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
else:
    # XLA tries convolutions and products while it compiles; what that takes for a moment isn't the step's, so it is off.
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"
    rows = [row for row in ROWS if len(sys.argv) == 1 or row[0] in sys.argv[1:]]
    at_once = int(os.environ.get("AT_ONCE", "4"))
    print("model,batch,optimizer,donate,arguments,outputs,aliased,temporaries,peak", flush=True)
    for i in range(0, len(rows), at_once):
        running = [subprocess.Popen([sys.executable, __file__, *map(str, row)],
                                    env=dict(os.environ, XLA_FLAGS=flags, XLA_PYTHON_CLIENT_PREALLOCATE="false")) for row in rows[i:i + at_once]]
        for process in running:
            process.wait()
