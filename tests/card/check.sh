#!/usr/bin/env bash
# check.sh [OUT [PROGRAM [ASK_CARD]]]: everything of vramplan that meets a card, on this machine's card, in about eight minutes.
# What each step said goes to OUT (a new folder: card-check) and is packed as OUT/card-check.tar.gz. It needs an NVIDIA card
# that nobody else uses, and VRAMPLAN_TEST_PYTHON (python3) with torch for the script steps; transformers, torchvision and
# peft for some of them, jax and optax for one. A step that fails or lacks something says so in OUT/steps.txt and the others go on.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
out=${1:-card-check} program=${2:-build/release/vramplan} ask_card=${3:-build/release/tests/ask_card}
python=${VRAMPLAN_TEST_PYTHON:-python3} limit=${STEP_SECONDS:-150}
export PYTHONUNBUFFERED=1
mkdir -p "$out/steps" || exit 1
began=$SECONDS

# step NAME COMMAND...: standard output to NAME.out, errors to NAME.err, a line with the exit code to steps.txt.
step() {
  local name=$1 from=$SECONDS code
  shift
  timeout "$limit" "$@" >"$out/steps/$name.out" 2>"$out/steps/$name.err" </dev/null
  code=$?
  printf '%-28s exit %3d  %4d s  %s\n' "$name" "$code" $((SECONDS - from)) "${*: -1}" | tee -a "$out/steps.txt"
}

# What there is so far, in one file: a visit that is cut off loses only its last steps.
pack() { tar -C "$out" -czf "$out/card-check.tar.gz" steps.txt steps $([[ -f $out/profile.json ]] && echo profile.json); }

step nvidia-smi nvidia-smi
step packages "$python" -c 'import importlib.metadata as m
for name in "torch torchvision transformers peft timm nvidia-cudnn-cu13 nvidia-cudnn-cu12 triton".split():
    try: print(name, m.version(name))
    except m.PackageNotFoundError: print(name, "none")'
# cuBLAS and cuDNN of the wheels, where the loader does not look.
wheels=$("$python" -c 'import glob, os, sysconfig
print(":".join(sorted(glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "*", "lib")))))' 2>/dev/null)

step probe "$program" probe
step probe-json "$program" probe --format json
with_libraries=(env "LD_LIBRARY_PATH=$wheels${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
step probe-libraries "${with_libraries[@]}" "$program" probe --format json
[[ -x $ask_card ]] && step ask-card "${with_libraries[@]}" "$ask_card" driver cards used holders "open 0" free "load kernel" free "load cublas" free \
  "load cudnn" free "allocate a 256MiB" "allocate b 256MiB" "touch a" "copy a b" "compute fp32 1e12" "compute tf32 1e12" \
  "compute fp16 1e12" "compute bf16 1e12" "workspace forward 2d" "workspace input-gradient 2d" "workspace weight-gradient 2d" close used
step calibrate "${with_libraries[@]}" "$program" calibrate --model models/resnet50.onnx --out "$out/profile.json" --force
step fit-auto "$program" fit models/resnet50.onnx --gpu auto
step validate-unet "$program" validate models/unet.onnx --batch 16 --format json
step validate-gpt "$program" validate models/gpt_small.onnx --dim sequence=512 --batch 8 --format json
step validate-largest "$program" validate models/resnet50.onnx --max-bytes 8GiB --format json
step validate-text "$program" validate models/bert_base.onnx --dim sequence=128 --batch 16
step context "$python" tests/card/context.py
step context-amp "$python" tests/card/context.py amp
step rnn "$python" tests/card/rnn.py
pack

if command -v compute-sanitizer >/dev/null && [[ -x $ask_card ]]; then
  # Our kernels alone. Under racecheck cuBLAS's half products fail inside the tool itself (CUDA 13.0, H200).
  for tool in memcheck initcheck synccheck racecheck; do
    half=("compute fp16 1e9")
    [[ $tool == racecheck ]] && half=()
    step "sanitizer-$tool" compute-sanitizer --tool "$tool" --kernel-name kernel_substring=vramplan --error-exitcode 9 "$ask_card" "open 0" \
      "allocate a 16MiB" "allocate b 16MiB" "touch a" "touch b" "copy a b" "compute fp32 1e9" "${half[@]}" close
  done
  step sanitizer-validate compute-sanitizer --error-exitcode 9 "$program" validate models/mlp.onnx --batch 64
fi

# Scripts, on a pretend card like this one and on this one: four at a time, for counters do not see each other.
scripts=(
  "train.py 64" "frozen.py" "checkpointed.py" "gan.py" "averaged.py" "blocks.py" "recurrent.py" "lora.py" "detr.py"
  "zoo.py mlp 512" "zoo.py transformer_encoder 16" "zoo.py bert_base 16" "zoo.py gpt2 8 amp-fp16" "zoo.py llama_160m 8"
  "zoo.py t5_small 8" "zoo.py resnet50 32" "zoo.py unet 8" "zoo.py resnet18 64 amp-fp16" "zoo.py vit_b_16 16" "zoo.py swin_t 16"
)
real() {
  local name=${1// /-}
  step "real-${name//.py/}" "$program" run --real --format json -- "$python" tests/pretend/torch/$1
}
[[ ${SCRIPTS:-yes} == yes ]] && for script in "${scripts[@]}"; do
  while (($(jobs -rp | wc -l) >= 4)); do wait -n; done
  real "$script" &
done
wait

# Published configurations at their real size, as people fine-tune them. They need 24 GB and more.
named=(
  "llama-3.1-8b lora 1 2048 checkpoint" "llama-3.2-1b full 2 1024 checkpoint" "llama-3.1-8b lora 1 512" "llama-3.2-1b full 2 1024"
  "qwen2.5-0.5b amp 4 512" "qwen3-1.7b lora 2 1024" "llama-3.1-8b generate 4 1024"
)
[[ ${NAMED:-yes} == yes ]] && for case in "${named[@]}"; do
  while (($(jobs -rp | wc -l) >= 3)); do wait -n; done
  real "named.py $case" &
done
wait
pack

# The batch that `fit` calls safe must train on this card, and the one that it says fails must not.
border() { # MODEL
  local answer safe fails
  answer=$("$program" fit "models/$1.onnx" --gpu auto --format json 2>/dev/null) || return
  read -r safe fails < <("$python" -c 'import json, sys
card = json.load(sys.stdin)
print(card["safe_batch"], card["first_failing_batch"])' <<<"$answer")
  step "border-$1-safe-$safe" "$python" tests/pretend/torch/zoo.py "$1" "$safe"
  step "border-$1-fails-$fails" "$python" tests/pretend/torch/zoo.py "$1" "$fails"
}
[[ ${SCRIPTS:-yes} == yes ]] && { border unet; border resnet50; }
step jax "$python" tests/card/jax_steps.py
step watch "$program" watch --command "$python tests/pretend/torch/zoo.py resnet50 32" --model models/resnet50.onnx --batch 32

printf 'in all %d s\n' $((SECONDS - began)) | tee -a "$out/steps.txt"
pack
