"""What a caller may get wrong about a model: what PyTorch refuses is refused in its words, also without the packages of its
exporters. Exit code 77 where torch is missing."""

import inspect
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python")]

try:
    import torch
    from torch import nn
except ImportError as missing:
    print(f"{missing.name} is not installed")
    sys.exit(77)

import vramplan  # noqa: E402

sys.modules.update({"onnx": None, "onnxscript": None})  # as if they were not installed



def last_line_of(cls):
    """The last one of its forward, as a place in this file."""
    lines, first = inspect.getsourcelines(cls.forward)
    return f"{pathlib.Path(__file__).name}:{first + len(lines) - 1}"


class Narrow(nn.Module):
    """Its second layer takes one feature less than the first gives."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(16, 32), nn.Linear(31, 4)

    def forward(self, x):
        h = torch.relu(self.one(x))
        return self.two(h)


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions, self.head = nn.Embedding(100, 8), nn.Embedding(1024, 8), nn.Linear(8, 100)

    def forward(self, ids):
        return self.head(self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device)))


class OfOne(nn.Module):
    """Runs with a batch of 1 alone."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        return self.fc(x.view(1, 16))


class Raising(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        raise ValueError("three channels are wanted")


class Trying(nn.Module):
    """Catches what PyTorch raises."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 4)

    def forward(self, x):
        try:
            x = x.transpose(0, 1).view(-1)
        except RuntimeError:
            x = x.transpose(0, 1).contiguous().view(-1)
        return self.fc(x.view(-1, 16))


class Mistakes(unittest.TestCase):
    def refused(self, says, model, inputs, kind=vramplan.UsageError, ask=vramplan.fit, **asked):
        with self.subTest(says=says), self.assertRaisesRegex(kind, says) as raised:
            ask(model, inputs, gpu="t4", **asked)
        self.assertNotIn("\n", str(raised.exception))

    def test_what_a_call_of_the_model_refuses(self):
        product = r"model: PyTorch stops at two \(linear\), " + last_line_of(Narrow) + r": mat1 and mat2 shapes cannot be multiplied \({}x32 and 31x4\)"
        for batch in (1, 2):
            self.refused(product.format(batch), Narrow(), torch.zeros(batch, 16))
        self.refused(product.format(2), Narrow(), torch.zeros(2, 16), mode="infer")
        self.refused(product.format(2), Narrow(), torch.zeros(2, 16), ask=vramplan.plan, batch=4)
        self.refused("model: PyTorch stops at linear: both arguments to linear need to be at least 1D", nn.Linear(4, 4), torch.tensor(1.0))

    def test_what_the_forward_does_not_take(self):
        says = r"example_inputs: .*forward\(\) got an unexpected keyword argument 'y' \(hint: the forward takes \(x\)\)"
        self.refused(says, Narrow(), {"y": torch.zeros(2, 16)})
        self.refused(r"example_inputs: .*takes 2 positional arguments but 3 were given", Narrow(), (torch.zeros(2, 16), torch.zeros(2, 16)))

    def test_what_no_recording_follows_without_exporters(self):
        pip = r"onnx is not installed.*\(hint: see whether the model runs on these inputs; if it does, pip install onnxscript, .*\)"
        scripted = torch.jit.script(nn.Linear(4, 4))
        self.refused("model: .*TorchScript .give the module that it was made of.*" + pip, scripted, torch.zeros(2, 4), vramplan.ExportError)
        self.refused(rf"model: .*ValueError: three channels are wanted, at {last_line_of(Raising)}; and " + pip, Raising(), torch.zeros(2, 16), vramplan.ExportError)
        self.refused("model: .*three channels are wanted.*" + pip, Raising(), torch.zeros(2, 16), vramplan.ExportError, vramplan.plan, batch=4)
        with self.assertRaisesRegex(vramplan.ExportError, r"onnx: .*not installed \(hint: pip install onnxscript\)"):
            vramplan.export(nn.Linear(4, 4), torch.zeros(2, 4), "model.onnx")

    def test_types_that_tensors_without_values_take(self):
        ids = "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.FloatTensor"
        self.refused(r"model: PyTorch stops at 0 \(embedding\): " + ids, nn.Sequential(nn.Embedding(10, 4)), torch.zeros(2, 4))
        self.refused("embedding.*" + ids, nn.Embedding(128256, 4096, device="meta"), torch.zeros(2, 4))  # as large as of a Llama
        self.refused("embedding.*" + ids, nn.Embedding(10, 4), torch.zeros(2, 4), precision="amp-fp16")
        classes, x = "loss: PyTorch stops at .*: expected scalar type Long but found ", torch.zeros(2, 4)
        for loss in (nn.CrossEntropyLoss(), nn.functional.cross_entropy, nn.functional.nll_loss, lambda out, y: nn.functional.cross_entropy(out, y)):
            self.refused(classes + "Float", nn.Linear(4, 4), x, loss=loss, target=torch.zeros(2))
        self.refused(classes + "Int", nn.Linear(4, 4), x, loss=nn.CrossEntropyLoss(), target=torch.zeros(2, dtype=torch.int32))
        floats = r"loss: PyTorch stops at .*Long.* \(hint: give target.float\(\)\)"
        self.refused(floats, nn.Linear(4, 1), x, loss=nn.BCEWithLogitsLoss(), target=torch.zeros(2, 1, dtype=torch.long))
        self.refused(r"linear: mat1 and mat2 must have the same dtype", nn.Linear(4, 4), x.long(), precision="amp-fp16")

    def test_indices_outside_of_their_table(self):
        table = r"model: PyTorch stops at positions \(embedding\), .*: the index 2047 is read in a table of 1,024 rows \(index out of range in self\)"
        for device in ("cpu", "meta"):
            self.refused(table, Positions(), torch.zeros(2, 2048, dtype=torch.long, device=device))
        self.refused("words .*: the index 100 is read in a table of 100 rows", Positions(), torch.full((2, 8), 100))
        outside = r"loss: PyTorch stops at cross_entropy_loss: the target has the class 7, and the output 4 classes \(Target 7 is out of bounds.\)"
        self.refused(outside, nn.Linear(4, 4), torch.zeros(2, 4), loss=nn.CrossEntropyLoss(), target=torch.tensor([0, 7]))

    def test_what_pytorch_takes(self):
        x, halves = torch.zeros(2, 4), {"loss": nn.CrossEntropyLoss(), "target": torch.full((2, 4), 0.25)}
        for model, inputs, asked in (
            (Positions(), torch.zeros(2, 1024, dtype=torch.long), {}),
            (nn.Embedding(10, 4), torch.zeros(2, 4, dtype=torch.int32), {}),
            (nn.Linear(4, 4), x, halves),
            (nn.Linear(4, 4), x, {"loss": nn.CrossEntropyLoss(), "target": torch.tensor([0, -100])}),
            (nn.Linear(4, 1), x, {"loss": nn.BCEWithLogitsLoss(), "target": torch.zeros(2, 1)}),
            (Trying(), torch.zeros(2, 16), {}),
        ):
            with self.subTest(model=type(model).__name__):
                self.assertTrue(vramplan.fit(model, inputs, gpu="t4", **asked).fits)
        with self.assertRaises(vramplan.ExportError):  # PyTorch runs it, with this batch
            vramplan.fit(OfOne(), torch.zeros(1, 16), gpu="t4")

    def test_a_plan_of_another_model(self):
        """Also one that names no module, for it checkpoints none."""
        narrow = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
        plan = vramplan.plan(narrow, torch.zeros(2, 16), gpu="t4", batch=4)
        self.assertEqual(plan.checkpoint, ())
        self.assertIsInstance(vramplan.apply(plan, nn.DataParallel(narrow)), vramplan.Applied)
        for other, missing in ((Narrow(), "0"), (nn.Sequential(nn.Linear(16, 4), nn.ReLU()), "2")):
            with self.assertRaisesRegex(ValueError, f"model: it is not the one that was planned: the model has no module {missing} "):
                vramplan.apply(plan, other)


if __name__ == "__main__":
    unittest.main()
