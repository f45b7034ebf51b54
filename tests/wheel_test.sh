#!/usr/bin/env bash
# The wheel: what it needs of a system, and that it answers in a clean environment. Builds it where VRAMPLAN_TEST_WHEEL is set, in
# about five minutes, or takes the one that VRAMPLAN_WHEEL names. With VRAMPLAN_TEST_DEBIAN (package_test.sh) also inside that Debian, which has no compiler; with
# VRAMPLAN_TEST_PYTHON, an interpreter with torch, a script on the pretend card too. Exit code 77, with the reason as the last
# line, where it cannot be built.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit 1
folder=$PWD/build/wheel-test wheel=${VRAMPLAN_WHEEL-}
[[ -n $wheel || -n ${VRAMPLAN_TEST_WHEEL-} ]] || { echo "VRAMPLAN_TEST_WHEEL=yes builds one, in five minutes; VRAMPLAN_WHEEL names one"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder" || exit 1
trap 'rm -rf "$folder/venv" "$folder/unpacked" "$folder/project"' EXIT
python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null || { echo "no Python 3.9 with venv here"; exit 77; }
command -v objdump >/dev/null || { echo "objdump is not installed"; exit 77; }
if [[ -z $wheel ]]; then
  command -v protoc >/dev/null || { echo "protoc is not installed (.ci/packages wheel)"; exit 77; }
  python3 -m pip download --quiet --no-deps --dest "$folder/unpacked" auditwheel >/dev/null 2>&1 || { echo "PyPI cannot be reached"; exit 77; }
  wheel=$(packaging/wheel.sh "$folder") || exit 1
fi
wrong=0 checked=0
expect() { # WHAT PATTERN ACTUAL
  ((checked += 1))
  # shellcheck disable=SC2053  # a pattern is meant
  [[ $3 == $2 ]] && return
  printf '%s: %s\n' "$1" "$3"
  ((wrong += 1))
}

expect 'the name says where it runs' '*-py3-none-manylinux_2_*_x86_64.whl' "$wheel"
expect 'at most 25 MB' '' "$(find "$wheel" -size +25000k)"
rm -rf "$folder/unpacked"
python3 -m zipfile -e "$wheel" "$folder/unpacked"
for file in vramplan pretend/libcuda.so.1 pretend/libnvidia-ml.so.1 pretend/bin/nvidia-smi; do
  binary=$folder/unpacked/vramplan/bin/$file
  # The newest symbols: what Ubuntu 22.04 and Colab (glibc 2.35) have, RHEL 9 (2.34) too. libstdc++ and protobuf are inside.
  versions=$(objdump -T "$binary" | grep -F '*UND*' | grep -oE '[A-Z]+_[0-9.]+' | sort -Vu)
  expect "$file wants a newer glibc than 2.34" '' "$({ grep ^GLIBC_ <<<"$versions"; echo GLIBC_2.34; } | sort -Vu | sed '1,/GLIBC_2.34/d')"
  expect "$file wants another library's symbols" '' "$(grep -vE '^(GLIBC|GCC)_' <<<"$versions")"
  expect "$file wants a newer libgcc than that of GCC 5" '' "$({ grep ^GCC_ <<<"$versions"; echo GCC_5.0.0; } | sort -Vu | sed '1,/GCC_5.0.0/d')"
  expect "$file wants other libraries" '' "$(objdump -p "$binary" | sed -n 's/^ *NEEDED *//p' | grep -vE '^(lib(c|m)\.so\.6|libgcc_s\.so\.1|ld-linux-x86-64\.so\.2|libcuda\.so\.1)$')"
done

python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install --quiet --no-index --no-deps "$wheel" || exit 1
clean() { env -i HOME="$folder" LC_ALL=C.UTF-8 PATH="$folder/venv/bin" "$@"; }
expected=$(LC_ALL=C.UTF-8 build/release/vramplan fit models/unet.onnx --gpu t4 2>/dev/null)
expect 'an answer' "${expected:-of build/release}" "$(clean vramplan fit models/unet.onnx --gpu t4 2>/dev/null)"
expect 'a name' 'llama-3.1-8b trains on *' "$(clean vramplan fit llama-3.1-8b --lora 16 --checkpoint all --gpu rtx-4090 2>/dev/null)"
expect 'the module' 'vramplan *True' "$(clean python -c 'import vramplan; print("vramplan", vramplan.__version__, vramplan.fit("models/unet.onnx", gpu="t4").fits)')"

# The pretend card, and whose python it is that runs.
if [[ -n ${VRAMPLAN_TEST_PYTHON-} ]]; then
  said=$(env -i HOME="$folder" PATH="$folder/venv/bin:$(dirname "$VRAMPLAN_TEST_PYTHON"):/usr/bin:/bin" \
    vramplan run --gpu t4 -- python tests/pretend/torch/train.py 64 2>&1)
  expect 'it says which python' "*vramplan: python is $(dirname "$VRAMPLAN_TEST_PYTHON")/python*" "$said"
  expect 'a script' '*train.py fits on Tesla T4*' "$said"
fi

# uv, which makes an environment of its own for the tool alone.
if python3 -m venv "$folder/project" && "$folder/project/bin/pip" install --quiet uv >/dev/null 2>&1; then
  uvx() { env HOME="$folder" UV_CACHE_DIR="$folder/project/cache" UV_OFFLINE=1 PATH="$folder/project/bin:/usr/bin:/bin" "$folder/project/bin/uvx" --from "$wheel" "$@"; }
  expect 'uvx' 'unet.onnx trains on Tesla T4*' "$(uvx vramplan fit models/unet.onnx --gpu t4 2>/dev/null)"
  expect "uvx starts the caller's python" "*vramplan: python is $folder/project/bin/python*" \
    "$(VIRTUAL_ENV=$folder/project uvx vramplan run --gpu t4 -- python -c 'import sys; print(sys.prefix)' 2>&1)"
fi

# A system that has never compiled anything.
root=${VRAMPLAN_TEST_DEBIAN-}
if [[ -n $root ]] && ((EUID == 0)); then
  cp "$wheel" models/unet.onnx "$root/tmp/" || exit 1
  inside() { chroot "$root" /usr/bin/env -i LC_ALL=C.UTF-8 HOME=/tmp PATH=/usr/bin:/bin bash -c "cd /tmp; $1" 2>&1; }
  expect 'a Debian without a compiler' '' "$(inside 'command -v gcc g++ cc c++; rm -rf clean; python3 -m venv clean')"
  for line in 'unet.onnx --gpu t4' 'llama-3.1-8b --lora 16 --gpu rtx-4090'; do
    began=$SECONDS
    said=$(inside "clean/bin/pip install --quiet --force-reinstall --no-index --no-deps ./vramplan-*.whl && clean/bin/vramplan fit $line 2>/dev/null")
    took=$((SECONDS - began))
    [[ $line == unet* ]] && expect 'in a Debian without a compiler' "$expected" "$said"
    expect "$line in that Debian" '* trains on *' "$said"
    expect "seconds from pip install to the answer of $line" '[0-9]' "$took"
    echo "pip install and vramplan fit $line in that Debian: $took s"
  done
  rm -rf "$root/tmp/clean" "$root"/tmp/vramplan-*.whl "$root/tmp/unet.onnx"
fi
echo "${wheel##*/} of $(du -k "$wheel" | cut -f1) KiB: $checked checks, $wrong wrong"
((wrong == 0))
