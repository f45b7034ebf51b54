"""vLLM's own start of a model of the table, with weights that nobody reads, for tests/data/names/vllm_pretend.csv.

    LD_PRELOAD=... VRAMPLAN_PRETEND_GPU=... python vllm_start.py MODELS CONTEXT [fp8] [eager]

needs vLLM 0.33 and the pretend card alone (pretend/README.md): torch.compile cannot trace the hook of `vramplan run`.
MODELS is models/architectures/names.jsonl and a name in it, with a colon between. A row of the table, without its card, goes
to standard output.
"""

import json
import os
import pathlib
import sys
import tempfile

import known

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")


def settings(models):
    path, name = models.rsplit(":", 1)
    rows = known.rows(pathlib.Path(path))
    return (name, rows[name]["config"]) if name in rows else sys.exit(name + " is not in " + path)


def main():
    name, config = settings(sys.argv[1])
    context, others = int(sys.argv[2]), sys.argv[3:]
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)

    from vllm.engine.arg_utils import EngineArgs
    from vllm.usage.usage_lib import UsageContext
    from vllm.v1.engine.llm_engine import LLMEngine
    from vllm.v1.worker import gpu_worker

    seen = {}
    measure = gpu_worker.Worker.determine_available_memory

    def determine_available_memory(self):
        seen["available"] = measure(self)
        seen["graphs"] = self.cudagraph_memory_estimate
        seen["requested"] = self.requested_memory
        seen["total"] = self.init_snapshot.total_memory
        return seen["available"]

    gpu_worker.Worker.determine_available_memory = determine_available_memory
    arguments = EngineArgs(
        model=folder,
        skip_tokenizer_init=True,
        load_format="dummy",
        max_model_len=context,
        enforce_eager="eager" in others,
        kv_cache_dtype="fp8" if "fp8" in others else "auto",
    )
    engine = LLMEngine.from_engine_args(arguments, usage_context=UsageContext.OPENAI_API_SERVER)
    batch, cache = engine.vllm_config.scheduler_config, engine.vllm_config.cache_config
    blocks = engine.engine_core.engine_core.scheduler.kv_cache_config.num_blocks
    row = [name, seen["total"], context, cache.cache_dtype, int("eager" in others), batch.max_num_batched_tokens]
    row += [batch.max_num_seqs, seen["requested"], seen["available"], seen["graphs"], blocks]
    print(",".join(str(cell) for cell in row + [cache.kv_cache_size_tokens]), flush=True)
    os._exit(0)  # what vLLM does at its end asks for a card that answers


main()
