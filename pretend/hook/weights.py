"""Weights that nobody downloads: of a .safetensors file of the Hub that is not in its cache only the header is asked for.

A file of the same length stands for it in the run's own folder, with holes where the values would be, and goes with the
run; what opens it gets tensors of the right sizes, without values. Values are never read on a pretend card. What is in
the cache already is used as it is, and other kinds of weights (.bin, .gguf) are downloaded as ever.
"""

import fnmatch
import json
import os
import struct
import sys
import urllib.parse
import urllib.request

_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
          "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
_OTHER_WEIGHTS = ("*.bin", "*.gguf", "*.pt", "*.pth", "*.ckpt")


class Weights:
    def __init__(self, folder, when_imported):
        self.folder = os.path.join(folder, "weights")
        self.headers = {}  # of the files that stand for others, by their real paths
        self.places = {}  # of these files, by repository and name
        when_imported("huggingface_hub.file_download", self.wrap_download)
        when_imported("huggingface_hub._snapshot_download", self.wrap_snapshot)
        when_imported("safetensors", self.wrap_open)

    # -- downloading

    def wrap_download(self, hub):
        download, cached = hub.hf_hub_download, hub.try_to_load_from_cache

        def hf_hub_download(repo_id, filename, **more):
            name = "/".join(part for part in (more.get("subfolder"), filename) if part)
            ours = str(more.get("cache_dir") or "").startswith(self.folder)
            kept = more.get("local_dir") or more.get("local_files_only") or more.get("force_download") or more.get("dry_run")
            if kept or more.get("repo_type") not in (None, "model") or hub.constants.HF_HUB_OFFLINE:
                return download(repo_id, filename, **more)
            if not name.endswith(".safetensors"):
                if any(fnmatch.fnmatch(name, pattern) for pattern in _OTHER_WEIGHTS):
                    print("vramplan: %s of %s is downloaded whole: only .safetensors can do without" % (name, repo_id),
                          file=sys.stderr)
                return download(repo_id, filename, **more)
            asked = {key: more[key] for key in ("cache_dir", "revision", "repo_type") if more.get(key)}
            if not ours and isinstance(cached(repo_id, name, **asked), str):
                return download(repo_id, filename, **more)
            return self.stand_in(hub, repo_id, name, more)
        def try_to_load_from_cache(repo_id, filename, *rest, **more):
            found = cached(repo_id, filename, *rest, **more)
            return found if isinstance(found, str) else self.places.get((repo_id, filename), found)
        hub.hf_hub_download, hub.try_to_load_from_cache = hf_hub_download, try_to_load_from_cache

    def stand_in(self, hub, repo_id, name, more):
        of_url = {key: more[key] for key in ("revision", "endpoint") if more.get(key)}
        url = hub.hf_hub_url(repo_id, name, **of_url)
        token = more.get("token")
        metadata = hub.get_hf_file_metadata(url, token=token)
        place = os.path.join(self.folder, "models--" + repo_id.replace("/", "--"), "snapshots", metadata.commit_hash or "main", name)
        if os.path.realpath(place) not in self.headers:
            where = metadata.location or url
            headers = hub.build_hf_headers(token=token) if urllib.parse.urlsplit(where).netloc == urllib.parse.urlsplit(url).netloc else {}

            def part(begin, end):
                request = urllib.request.Request(where, headers={**headers, "Range": "bytes=%d-%d" % (begin, end - 1)})
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return answer.read(end - begin)
            length = struct.unpack("<Q", part(0, 8))[0]
            header = part(8, 8 + length)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(struct.pack("<Q", length) + header)
                file.truncate(metadata.size)
            self.headers[os.path.realpath(place)] = json.loads(header)
            self.places[repo_id, name] = place
        return place

    def wrap_snapshot(self, module):
        download = module.snapshot_download

        def snapshot_download(repo_id, **more):
            if not any(more.get(key) for key in ("local_dir", "local_files_only", "dry_run")) and self.lacks(download, repo_id, more):
                more["cache_dir"] = self.folder
            return download(repo_id, **more)
        module.snapshot_download = snapshot_download

    @staticmethod
    def lacks(download, repo_id, more):
        """Whether the cache has no weights of it."""
        asked = {key: more[key] for key in ("cache_dir", "revision", "repo_type") if more.get(key)}
        try:
            folder = download(repo_id, local_files_only=True, **asked)
        except Exception:
            return True
        return not any(name.endswith(".safetensors") for _, _, names in os.walk(folder) for name in names)

    # -- opening

    def wrap_open(self, module):
        opened, headers = module.safe_open, self.headers

        def safe_open(filename, framework="pt", device="cpu", **more):
            header = headers.get(os.path.realpath(filename))
            return opened(filename, framework, device, **more) if header is None else _Opened(header, device)
        module.safe_open = safe_open


class _Slice:
    def __init__(self, entry, device):
        self.entry, self.device = entry, device

    def get_shape(self):
        return list(self.entry["shape"])

    def get_dtype(self):
        return self.entry["dtype"]

    def __getitem__(self, index):
        import torch
        kind = getattr(torch, _TYPES[self.entry["dtype"]])
        shape = torch.empty(self.entry["shape"], dtype=kind, device="meta")[index].shape
        return torch.empty(shape, dtype=kind, device=self.device)


class _Opened:
    """What safetensors.safe_open gives, of a header alone."""

    def __init__(self, header, device):
        self.named = {name: entry for name, entry in header.items() if name != "__metadata__"}
        self.about, self.device = header.get("__metadata__"), device

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def keys(self):
        return list(self.named)

    def offset_keys(self):
        return sorted(self.named, key=lambda name: self.named[name]["data_offsets"][0])

    def metadata(self):
        return self.about

    def get_slice(self, name):
        return _Slice(self.named[name], self.device)

    def get_tensor(self, name):
        return _Slice(self.named[name], self.device)[...]
