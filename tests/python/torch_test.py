"""The Python module with models of torch: facts, lives, exports. Exit code 77 where torch or onnxscript is missing."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "python")]

try:
    import onnxscript  # noqa: F401
    import torch
    from torch import nn
except ImportError as missing:
    print(f"{missing.name} is not installed")
    sys.exit(77)

import vramplan  # noqa: E402
from vramplan import _exporting, _facts, _lives  # noqa: E402


class Net(nn.Module):
    """A name that keeps a tensor, a call in place, a tied weight, a frozen parameter, and a buffer that is not used."""

    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 8)
        self.two = nn.Linear(8, 8)
        self.two.weight = self.one.weight
        self.scale = nn.Parameter(torch.ones(8), requires_grad=False)
        self.register_buffer("table", torch.zeros(100))

    def forward(self, x):
        kept = self.one(x)
        h = torch.sin(kept)
        h = torch.relu_(h)
        h = self.two(h * self.scale)
        return h + kept


def facts_of(model, inputs, **how):
    import onnx

    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/model.onnx"
        exported = vramplan.export(model, inputs, path, **how)
        proto = onnx.load(path, load_external_data=False)
    import json

    return json.loads({entry.key: entry.value for entry in proto.metadata_props}[_facts.KEY]), exported


class Facts(unittest.TestCase):
    def test_what_the_module_tree_says(self):
        facts = _facts.model_facts(Net(), torch.optim.AdamW)
        self.assertIn({"name": "scale", "type": "float32", "shape": [8], "trained": False}, facts["parameters"])
        self.assertIn({"name": "two.weight", "same_as": "one.weight"}, facts["parameters"])
        self.assertEqual(facts["buffers"], [{"name": "table", "type": "float32", "shape": [100]}])
        self.assertEqual(facts["optimizer"], {"name": "adamw", "weight_decay": 0.01})

    def test_optimizers(self):
        def told(kind, **settings):
            return _facts.optimizer_facts(kind([nn.Parameter(torch.zeros(1))], **settings))

        self.assertEqual(told(torch.optim.SGD, lr=0.1)["name"], "sgd")
        self.assertEqual(told(torch.optim.SGD, lr=0.1, momentum=0.5)["momentum"], 0.5)
        self.assertEqual(told(torch.optim.SGD, lr=0.1, momentum=0.5, nesterov=True)["name"], "sgd-nesterov")
        self.assertEqual(told(torch.optim.Adam, amsgrad=True)["name"], "adam-amsgrad")
        self.assertEqual(told(torch.optim.RMSprop, centered=True, momentum=0.5)["name"], "rmsprop-centered-momentum")
        self.assertEqual(told(torch.optim.Adam, foreach=False)["impl"], "for-loop")
        self.assertIsNone(_facts.optimizer_facts(torch.optim.LBFGS))

    def test_lives(self):
        facts, exported = facts_of(Net(), torch.zeros(2, 8))
        self.assertEqual(exported.exporter, "dynamo")
        lives = facts["lives"]["train"]
        # Exporters number operators as they like: mul_8 is "mul".
        calls = [name.rsplit("_", 1)[0] if name[-1].isdigit() else name for name in lives["calls"]]
        self.assertEqual(calls, ["linear", "sin", "relu", "mul", "linear", "add"])
        self.assertEqual(lives["writes"], ["relu"])
        ends = {lives["calls"].index(name): call for name, call in lives["ends"]}
        # `kept` is a name; h is bound anew when `two` has returned; sin and relu are one storage; the sum is the caller's.
        self.assertEqual(ends, {0: 5, 1: 4, 2: 4, 3: 4, 4: 5, 5: -1})
        self.assertEqual(facts["functions"], [])
        self.assertEqual(facts["checkpointed"], [])

    def test_checkpoints_and_functions(self):
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                return gradient

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(8, 8)

            def forward(self, x):
                return torch.utils.checkpoint.checkpoint(self.inner, Square.apply(x), use_reentrant=False)

        model = nn.Sequential(Block(), Block())
        with _facts.checkpointed_modules(model) as checkpointed, _facts.called_functions() as functions:
            model(torch.zeros(2, 8))
        self.assertEqual(checkpointed, ["0.inner", "1.inner"])
        self.assertEqual([name.rsplit(".", 1)[-1] for name in functions], ["Square"])
        self.assertIn("apply", torch.autograd.Function.__dict__)

    def test_a_model_is_as_it_was(self):
        model = Net().train()
        model.two.eval()
        facts_of(model, torch.zeros(2, 8), mode="infer")
        self.assertEqual([m.training for m in (model, model.one, model.two)], [True, True, False])
        self.assertNotIn("forward", model.__dict__)


class Aligning(unittest.TestCase):
    @staticmethod
    def recorder(calls):
        made = _lives.Recorder()
        made.calls = [_lives.Call(op, (2,), [i], False, reads, op) for i, (op, reads) in enumerate(calls)]
        return made

    def test_what_only_one_has_is_left_out(self):
        code = self.recorder([("a", []), ("b", [0]), ("x", [1]), ("c", [2]), ("d", [3])])
        graph = self.recorder([("a", []), ("b", [0]), ("c", [1]), ("d", [2])])
        self.assertEqual(_lives.align(code, graph), [0, 1, None, 2, 3])

    def test_the_same_operator_on_something_else_is_another(self):
        code = self.recorder([("a", []), ("b", []), ("c", [0]), ("d", [2])])
        graph = self.recorder([("a", []), ("b", []), ("c", [1]), ("d", [2])])
        self.assertEqual(_lives.align(code, graph), [0, 1, None, 3])


class Answers(unittest.TestCase):
    def test_fit_of_a_module(self):
        fit = vramplan.fit(
            Net(), torch.zeros(2, 8), gpu="t4", optimizer=torch.optim.AdamW, loss=nn.MSELoss(), precision="amp-fp16"
        )
        self.assertEqual(fit.json["spec"]["optimizer"]["value"], "adamw")
        self.assertEqual(fit.json["spec"]["loss"]["value"], "mse")
        self.assertEqual(fit.json["model"]["parameters"], 8 * 8 + 8 + 8 + 8)
        self.assertEqual(fit.json["model"]["buffer_bytes"], 400)
        self.assertEqual([a.code for a in fit.assumptions if a.matters], [])

    def test_a_model_on_the_meta_device(self):
        with torch.device("meta"):
            model = Net()
        told = [vramplan.estimate(m, torch.zeros(2, 8), loss="mse").peak for m in (model, Net())]
        self.assertEqual(*told)
        self.assertTrue(all(tensor.is_meta for tensor in model.state_dict().values()))
        self.assertIs(model.one.weight, model.two.weight)

    def test_estimate_takes_the_batch_of_the_example(self):
        self.assertEqual(vramplan.estimate(Net(), torch.zeros(5, 8), mode="infer").batch, 5)

    @unittest.skipIf(torch.version.cuda is None, "a pretend card needs a wheel for CUDA")
    def test_a_model_that_no_exporter_takes_runs_itself(self):
        import stubborn

        how = {"gpu": "t4", "loss": nn.functional.mse_loss, "optimizer": torch.optim.SGD}
        told = vramplan.estimate(stubborn.Stubborn(), torch.zeros(2, 512), batch=64, **how)
        self.assertEqual(told.json["schema"], "vramplan.run/1")
        self.assertTrue(told.notes[0].text.startswith("no exporter takes the model"))
        self.assertGreater(told.peak.requested, 2 * 512 * 512 * 4)
        self.assertLessEqual(told.peak.requested, told.peak.allocated)
        with self.assertRaises(vramplan.ExportError):  # a name is no loss that a script could call
            vramplan.estimate(stubborn.Stubborn(), torch.zeros(2, 512), gpu="t4", loss="mse")

    def test_what_a_forward_returns(self):
        named = {"hidden": torch.zeros(1), "logits": torch.ones(2)}
        self.assertEqual(_exporting.main_output(named).shape, (2,))
        self.assertEqual(len(_exporting.main_output((torch.zeros(1), torch.zeros(1)))), 2)
        with self.assertRaises(vramplan.ExportError):
            _exporting.main_output("text")

    def test_apply(self):
        model = nn.Sequential(*(nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(8)))
        plan = vramplan.plan(model, torch.zeros(2, 512), gpu="t4", batch=131072, loss="mse")
        self.assertTrue(plan.fits)
        optimizer = torch.optim.Adam(model.parameters())
        applied = vramplan.apply(plan, model, optimizer)
        self.assertIs(applied.model, model)
        self.assertEqual(applied.batch * applied.accumulate, 131072)
        self.assertEqual(optimizer.param_groups[0]["fused"], plan.optimizer_impl == "fused")
        for path in plan.checkpoint:
            self.assertIn("forward", model.get_submodule(path).__dict__)

    def test_suggested_batch(self):
        batch = vramplan.suggest_batch_size(Net(), torch.zeros(2, 8), gpu="t4", power_of_two=True, loss="mse")
        self.assertEqual(batch & (batch - 1), 0)


if __name__ == "__main__":
    unittest.main()
