"""Scripts that load models by name under `vramplan run`: a small server on this machine speaks the Hub's routes. The config
is fetched, of the weights only the header, the cache stays clean of them, and PyTorch counts what it counts of real weights."""

import http.server
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading

if importlib.util.find_spec("transformers") is None:
    print("transformers is not installed")
    sys.exit(77)
VRAMPLAN = os.path.abspath(sys.argv[1])
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 4,
          "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 8192, "max_position_embeddings": 512, "rms_norm_eps": 1e-05,
          "tie_word_embeddings": False, "torch_dtype": "bfloat16", "hidden_act": "silu"}
TRAIN = """import os, sys, torch, transformers
if sys.argv[1] == "hub":
    model = transformers.AutoModelForCausalLM.from_pretrained("some-organisation/model", dtype=torch.bfloat16)
else:
    config = transformers.AutoConfig.from_pretrained("some-organisation/model")
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
model = model.to("cuda").train()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    tokens = torch.zeros(2, 128, dtype=torch.long, device="cuda")
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
wrong = []


def is_(what, got, expected):
    if got != expected:
        wrong.append(what)
        print("FAIL  %s: %r instead of %r" % (what, got, expected))


def weights():
    """The head of the .safetensors file of this model, and the length of the whole."""
    hidden, inner, heads = CONFIG["hidden_size"], CONFIG["intermediate_size"], CONFIG["num_key_value_heads"] * 64
    shapes = {"model.embed_tokens.weight": [CONFIG["vocab_size"], hidden], "lm_head.weight": [CONFIG["vocab_size"], hidden], "model.norm.weight": [hidden]}
    for layer in range(CONFIG["num_hidden_layers"]):
        of_layer = {"self_attn.q_proj": [hidden, hidden], "self_attn.k_proj": [heads, hidden], "self_attn.v_proj": [heads, hidden],
                    "self_attn.o_proj": [hidden, hidden], "mlp.gate_proj": [inner, hidden], "mlp.up_proj": [inner, hidden],
                    "mlp.down_proj": [hidden, inner], "input_layernorm": [hidden], "post_attention_layernorm": [hidden]}
        shapes.update({"model.layers.%d.%s.weight" % (layer, name): shape for name, shape in of_layer.items()})
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text, 8 + len(text) + offset


HEAD, LENGTH = weights()


class Hub(http.server.BaseHTTPRequestHandler):
    sent = 0  # bytes of weights
    asked = []

    def answer(self, body):
        name = self.path.split("/resolve/")[-1].split("/", 1)[-1]
        Hub.asked.append((self.command, name))
        if name == "model.safetensors":
            text, length = HEAD, LENGTH
        elif name == "config.json":
            text = json.dumps(CONFIG).encode()
            length = len(text)
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        begin, end = 0, length
        if self.headers.get("Range"):
            first, last = self.headers["Range"].split("=")[1].split("-")
            begin, end = int(first), min(length, int(last) + 1) if last else length
            self.send_response(206)
            self.send_header("Content-Range", "bytes %d-%d/%d" % (begin, end - 1, length))
        else:
            self.send_response(200)
        for key, value in (("Content-Length", end - begin), ("ETag", '"%s"' % name), ("X-Repo-Commit", "c" * 40), ("Accept-Ranges", "bytes")):
            self.send_header(key, str(value))
        self.end_headers()
        if body:
            part = text[begin:end] + bytes(max(0, end - max(begin, len(text))))
            Hub.sent += len(part) if name == "model.safetensors" else 0
            self.wfile.write(part)

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as folder:
    script = os.path.join(folder, "train.py")
    with open(script, "w") as file:
        file.write(TRAIN)
    environment = dict(os.environ, HF_ENDPOINT="http://127.0.0.1:%d" % server.server_port, HF_HOME=os.path.join(folder, "hf"), HF_HUB_OFFLINE="0",
                       HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_TELEMETRY="1")

    def run(source):
        done = subprocess.run([VRAMPLAN, "run", "--gpu", "t4", "--format", "json", "--", sys.executable, script, source], env=environment,
                              capture_output=True, text=True)
        if not done.stdout:
            print(done.stderr[-2000:])
        return json.loads(done.stdout or "{}")

    named, built = run("hub"), run("config")
    is_("steps", len(named.get("steps", [])), 3)
    if named.get("steps") and built.get("steps"):
        is_("requested", named["steps"][-1]["requested"], built["steps"][-1]["requested"])
    is_("weights that were sent", Hub.sent, len(HEAD))
    kept = [name for _, _, names in os.walk(environment["HF_HOME"]) for name in names]
    is_("config in the cache", "config.json" in kept, True)
    is_("weights in the cache", [name for name in kept if name.endswith(".safetensors")], [])
print("%d wrong" % len(wrong))
sys.exit(bool(wrong))
