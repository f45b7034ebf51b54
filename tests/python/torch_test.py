"""The Python module with models of torch: facts, lives, exports. Exit code 77 where torch or onnxscript is missing."""

import contextlib
import dataclasses
import io
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
from vramplan import _ask, _calls, _exporting, _facts, _lives, _program  # noqa: E402


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
        self.assertEqual(told(torch.optim.Adafactor)["name"], "adafactor")
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


def program_of(forward, *inputs, training=True, **modules):
    """The program of a model with this forward."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            for name, module in modules.items():
                setattr(self, name, module)

        def forward(self, *given):
            return forward(self, *given)

    batch = inputs[0].shape[0]
    return _program.record_program(Model(), inputs, {}, batch, training, _exporting.main_output)[0]


def calls_of(program):
    return [(call[0].split(".")[1], call[2], call[3], *call[4:]) for call in program["calls"]]


class Programs(unittest.TestCase):
    def test_calls_values_and_ends(self):
        program = program_of(lambda m, x: torch.relu_(m.fc(x)) * 2, torch.zeros(2, 3), fc=nn.Linear(3, 8))[""]
        self.assertEqual(program["stored"], [["fc.weight", 0], ["fc.bias", 1]])
        self.assertEqual(program["given"], [["input_0", 2]])
        self.assertEqual(program["modules"], [["fc", "torch.nn.modules.linear.Linear", -1]])
        self.assertEqual(
            calls_of(program), [("linear", ["%2", "%0", "%1"], [3]), ("relu_", ["%3"], [4]), ("mul", ["%4", 2], [5])]
        )
        self.assertEqual([call[1] for call in program["calls"]], [0, -1, -1])
        self.assertEqual(program["values"][5], ["float32", [[0, 1], 8]])
        self.assertEqual(program["ends"], [[3, 2], [4, 2], [5, -1]])
        self.assertEqual(program["returned"], [5])

    def test_lengths_are_polynomials_of_the_batch(self):
        program = program_of(lambda m, x: ((x @ x.T).flatten(), torch.cat([x, x[:1]])), torch.zeros(2, 3))[""]
        lengths = [program["values"][number][1][0] for number in program["returned"]]
        self.assertEqual(lengths, [[0, 0, 1], [1, 1]])

    def test_a_write_into_a_part(self):
        def forward(m, x):
            y = m.fc(x)
            part = y[:, 1]
            part += x[:, 0]
            return part * 2

        calls = calls_of(program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 3))[""])
        number = calls[0][2][0]
        write = next(call for call in calls if call[0] == "add_")
        self.assertEqual(write[3], {"of": f"%{number}"})
        self.assertEqual(calls[-2][0], "as_strided")  # the part of what the write made
        self.assertEqual(calls[-2][1], [f"%{write[2][0]}"])
        self.assertEqual(calls[-1][1], [f"%{calls[-2][2][0]}", 2])

    def test_a_write_into_a_part_of_a_matrix_product(self):
        def forward(m, q, k, bias):
            scores = q @ k.transpose(-2, -1)  # to tensors without values, a view of what bmm made
            scores[:, :, 1:] = scores[:, :, 1:] + bias
            return scores.softmax(-1)

        given = (torch.zeros(2, 3, 4, 8), torch.zeros(2, 3, 5, 8), torch.zeros(2, 3, 3, 5))
        calls = calls_of(program_of(forward, *given)[""])
        product = next(call for call in calls if call[0] == "matmul")
        write = next(call for call in calls if call[0] == "copy_")
        self.assertEqual(write[3], {"of": f"%{product[2][0]}"})
        self.assertEqual(calls[-1][1], [f"%{write[2][0]}", -1])

    def test_a_clone_lies_as_it_is_or_as_the_code_says(self):
        def forward(m, x):
            return x.transpose(0, 1).clone(), x.clone(memory_format=torch.contiguous_format)

        calls = calls_of(program_of(forward, torch.zeros(2, 3))[""])
        clones = [call for call in calls if call[0] == "clone"]
        self.assertEqual(clones[0][3], {"memory_format": "preserve"})
        self.assertEqual(len(clones[1]), 3)

    def test_the_loss_of_a_script(self):
        def loss(out, target):
            return nn.functional.cross_entropy(out["logits"].transpose(1, 2), target["labels"], weight=None)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 5)

            def forward(self, x):
                return {"hidden": x, "logits": self.fc(x)}

        given = ((torch.zeros(2, 4, 3),), {}, 2)
        criterion = _program.Criterion(loss, {"labels": torch.zeros(2, 4, dtype=torch.long)})
        for training, calls in ((True, ["linear", "transpose", "cross_entropy_loss"]), (False, ["linear"])):
            program = _program.record_program(
                Model(), *given, training, _exporting.main_output, criterion=criterion
            )[0][""]
            self.assertEqual([call[0] for call in calls_of(program)], calls)
            self.assertEqual([name for name, _ in program["given"]], ["input_0", "target"])
            self.assertEqual(program.get("loss"), 1 if training else None)
            self.assertEqual(program["values"][program["returned"][0]][1], [] if training else [[0, 1], 4, 5])
        program = _program.record_program(
            nn.Linear(3, 1), (torch.zeros(2, 3),), {}, 2, True, _exporting.main_output,
            criterion=_program.Criterion(nn.CrossEntropyLoss(weight=torch.ones(1)), torch.zeros(2, dtype=torch.long)),
        )[0][""]  # fmt: skip
        self.assertEqual([name for name, _ in program["given"]], ["input_0", "target", "loss_0"])

    def test_code_may_look_at_masks(self):
        def forward(m, x, mask):
            return x.masked_fill(mask[:, None] == 0, 0) if not mask.all() else x * 2

        for values, name in (([1, 1], "mul"), ([1, 0], "masked_fill")):
            program = program_of(forward, torch.zeros(2, 3), torch.tensor(values))[""]
            self.assertEqual(calls_of(program)[-1][0], name)

    def test_nothing_is_left_out_by_chance(self):
        program = program_of(lambda m, x: x if torch.rand(1) < 0.5 else x * 2, torch.zeros(2, 3))[""]
        self.assertEqual(calls_of(program)[-1][0], "mul")

    def test_code_may_ask_for_the_card(self):
        def forward(m, x):
            return x * 2 if torch.cuda.get_device_capability() >= (8, 0) else x + 2

        def asked(capability):
            module = nn.Module()
            module.forward = lambda x: forward(module, x)
            programs, _, _ = _program.record_program(
                module, (torch.zeros(2, 3),), {}, 2, True, _exporting.main_output, capability
            )
            return calls_of(programs[""])[-1][0]

        before = torch.cuda.get_device_capability
        self.assertEqual([asked((7, 5)), asked((9, 0))], ["add", "mul"])
        self.assertIs(torch.cuda.get_device_capability, before)
        self.assertEqual(calls_of(program_of(forward, torch.zeros(2, 3))[""])[-1][0], "add")  # a T4 where none is named

    def test_casts_that_do_nothing_in_fp32(self):
        def forward(m, x):
            y = m.fc(x)
            return y.float().pow(2).type_as(y)

        casts = [c[3:] for c in calls_of(program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 3))[""]) if len(c) > 3]
        self.assertEqual(casts, [({"amp": "float"},), ({"amp": "half"},)])

    def test_a_card_that_is_ambiguous_is_told_before_the_model_runs(self):
        class Runs(nn.Module):
            def forward(self, x):
                raise AssertionError("it ran")

        with self.assertRaisesRegex(vramplan.UsageError, "a100-40gb or a100-80gb"):
            vramplan.fit(Runs(), torch.zeros(2, 8), gpu="a100")

    def test_a_model_in_halves_has_the_types_of_autocast(self):
        model = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8)).bfloat16()
        given = (torch.zeros(2, 8, dtype=torch.bfloat16),)
        programs, _, _ = _program.record_program(model, given, {}, 2, True, _exporting.main_output)
        made = {name: [program["values"][call[3][0]][0] for call in program["calls"]] for name, program in programs.items()}
        self.assertEqual(made, {"": ["bfloat16", "bfloat16"], "-amp": ["float32", "bfloat16"]})
        alone, _, _ = _program.record_program(model, given, {}, 2, True, _exporting.main_output, autocast=False)
        self.assertEqual(alone, {"": programs[""]})
        # Only a question about another type runs it under autocast, which takes as long again.
        of = _ask._may_ask_autocast
        self.assertEqual([of(model, p, {}) for p in (None, "bf16", "fp16", "amp-bf16")], [False, False, True, True])
        self.assertTrue(of(model, None, {"over": ["precision=bf16,amp-bf16"]}))
        self.assertTrue(of(model, None, {"framework": "onnxruntime"}))
        self.assertTrue(of(nn.Linear(8, 8), None, {}))

    def test_code_that_looks_at_types_has_a_program_for_autocast(self):
        def forward(m, x):
            y = m.fc(x)
            return y.clamp(-1, 1) if y.dtype == torch.float16 else y

        programs = program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 3))
        self.assertEqual([call[0] for call in calls_of(programs[""])], ["linear"])
        self.assertEqual([call[0] for call in calls_of(programs["-amp"])], ["linear", "clamp"])
        self.assertEqual(programs["-amp"]["values"][-1], ["float16", [[0, 1], 3]])

    def test_without_gradients(self):
        def forward(m, x):
            with torch.no_grad():
                target = m.fc(x)
            return m.fc(x) - target

        calls = calls_of(program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 3))[""])
        self.assertEqual([len(call) > 3 and call[3].get("no_grad", False) for call in calls], [True, False, False])

    def test_a_function_inside_of_vmap_is_recorded_by_its_calls(self):
        class Doubled(torch.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        program = program_of(lambda m, x: m.fc(torch.vmap(Doubled.apply)(x)), torch.zeros(2, 3), fc=nn.Linear(3, 3))[""]
        self.assertEqual([call[0] for call in calls_of(program)], ["mul", "linear"])

    def test_functions(self):
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor, w):
                product = x * w
                ctx.save_for_backward(product, x)
                ctx.factor = factor
                return product * factor

            @staticmethod
            def backward(ctx, grad):
                product, x = ctx.saved_tensors
                return (grad * product if ctx.needs_input_grad[0] else None), None, grad * x * ctx.factor

        def forward(m, x):
            return Scaled.apply(m.fc(x), 2.0, m.fc.bias)

        program = program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 3))[""]
        calls = calls_of(program)
        self.assertEqual([call[0] for call in calls], ["linear", "mul", "mul", "function"])
        (x,), (product,), (scaled,) = (call[2] for call in calls[:3])
        bias = dict(program["stored"])["fc.bias"]
        name = "%{}".format
        self.assertEqual(calls[3][1], [[name(scaled)], [name(x), name(bias)], [name(product), name(x)]])
        self.assertIn([product, 3], program["ends"])  # nothing but its entry on the tape holds it
        (backward,) = program["backwards"]
        self.assertEqual(len(backward["given"]), 3)  # the gradient, and what it kept
        self.assertEqual([call[0] for call in calls_of(backward)], ["mul", "mul", "mul"])
        self.assertEqual(len(backward["returned"]), 2)
        self.assertNotIn("backwards", program_of(forward, torch.zeros(2, 3), training=False, fc=nn.Linear(3, 3))[""])

    def test_checkpoints(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)

            def forward(self, x):
                def part(y):
                    return self.fc(y)

                x = self.fc(x)
                for _ in range(2):
                    x = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
                return torch.utils.checkpoint.checkpoint(self.fc, x, use_reentrant=True)

        inputs = (torch.zeros(2, 3),)
        programs, checkpointed, _ = _program.record_program(Model(), inputs, {}, 2, True, _exporting.main_output)
        self.assertEqual(checkpointed, ["part", "part_2", "fc@1"])
        modules = [module[0] for module in programs[""]["modules"]]
        self.assertEqual(modules, ["fc", "part", "fc", "part_2", "fc", "fc@1"])
        self.assertEqual(programs[""]["reentrant"], ["fc@1"])
        self.assertNotIn("no_grad", str(programs))

    def test_a_module_is_checkpointed_by_its_call(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(3, 3)

            def forward(self, x):  # as diffusers does it
                return torch.utils.checkpoint.checkpoint(self.a.__call__, x, use_reentrant=False)

        _, checkpointed, _ = _program.record_program(Model(), (torch.zeros(2, 3),), {}, 2, True, _exporting.main_output)
        self.assertEqual(checkpointed, ["a"])

    def test_a_module_is_checkpointed_call_by_call(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

            def forward(self, x):
                for _ in range(2):
                    x = torch.utils.checkpoint.checkpoint(self.a, x, use_reentrant=False)
                return torch.utils.checkpoint.checkpoint(self.b, x, use_reentrant=False)

        inputs = (torch.zeros(2, 3),)
        programs, checkpointed, _ = _program.record_program(Model(), inputs, {}, 2, True, _exporting.main_output)
        self.assertEqual(checkpointed, ["a@1", "a@2", "b"])
        self.assertEqual([module[0] for module in programs[""]["modules"]], ["a@1", "a@2", "b"])

    def test_of_a_condition_the_branch_that_runs(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)

            def forward(self, x, ids):
                x = torch.cond((ids > 5).any(), lambda y: y.sin(), lambda y: y.cos(), (self.fc(x),))
                return torch.cond(x.sum() > 0, lambda y: y.tanh(), lambda y: y.exp(), (x,))

        inputs = (torch.zeros(2, 3), torch.tensor([1, 2]))
        programs, _, notes = _program.record_program(Model(), inputs, {}, 2, True, _exporting.main_output)
        ran = [call[0] for call in calls_of(programs[""])]
        self.assertIn("cos", ran)
        self.assertNotIn("sin", ran)
        self.assertIn("tanh", ran)
        self.assertEqual(len(notes), 1)
        self.assertIn("torch.cond", notes[0])

    def test_what_no_rule_knows_is_taken_apart(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 4)

            def forward(self, x):
                return torch.hstack([self.fc(x).swapaxes(1, 2), self.fc(x).moveaxis(1, 2)])

        inputs = (torch.zeros(2, 5, 3),)
        programs = _program.record_program(Model(), inputs, {}, 2, True, _exporting.main_output)[0]
        ran = [call[0] for call in calls_of(programs[""])]
        self.assertEqual(ran, ["linear", "transpose", "linear", "movedim", "cat"])

    def test_ctc_has_two_places_for_each_of_a_target(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 6)

            def forward(self, x, y):
                chances = self.fc(x).log_softmax(-1).transpose(0, 1)
                times, lengths = torch.full((x.shape[0],), 20), torch.full((x.shape[0],), 5)
                return nn.functional.ctc_loss(chances, y, times, lengths)

        inputs = (torch.zeros(2, 20, 3), torch.ones(2, 8, dtype=torch.long))
        program = _program.record_program(Model(), inputs, {}, 2, True, _exporting.main_output)[0][""]
        call = next(call for call in program["calls"] if call[0].startswith("aten._ctc_loss"))
        self.assertEqual([program["values"][v][1] for v in call[3]], [[[0, 1]], [[0, 1], 20, 11]])

    def test_channels_last_as_the_code_has_it(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 4, 3)

            def forward(self, x, y):
                return self.conv(x.contiguous(memory_format=torch.channels_last) + y)

        model = Model().to(memory_format=torch.channels_last)
        inputs = (torch.zeros(2, 3, 8, 8), torch.zeros(2, 3, 8, 8).to(memory_format=torch.channels_last))
        program = _program.record_program(model, inputs, {}, 2, True, _exporting.main_output)[0][""]
        weight = next(number for name, number in program["stored"] if name == "conv.weight")
        self.assertEqual(program["channels_last"], [weight, program["given"][1][1]])
        self.assertEqual(program["calls"][0][0], "aten.contiguous.default")
        self.assertEqual(program["calls"][0][4]["memory_format"], "channels_last")

    def test_a_model_that_holds_on_to_itself(self):
        class Hooked(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.seen = {}
                self.fc.register_forward_hook(lambda m, i, o: self.seen.update(last=o))

            def forward(self, x):
                self.fc(x)
                self.kept = self.seen["last"] * 2
                return self.kept + 1

        model = Hooked()
        for _ in range(2):  # afresh, and with what a forward left
            seen = dict(model.seen)
            inputs = (torch.zeros(2, 3),)
            programs = _program.record_program(model, inputs, {}, 2, True, _exporting.main_output)[0]
            self.assertEqual([call[0] for call in calls_of(programs[""])], ["linear", "mul", "add"])
            made = [call[2][0] for call in calls_of(programs[""])]
            self.assertEqual(programs[""]["ends"], [[made[2], -1], [made[0], -2], [made[1], -2]])
            self.assertEqual(list(map(id, model.seen.values())), list(map(id, seen.values())))
            self.assertIs(type(model.fc.weight.data), torch.Tensor)
            self.assertEqual(model(torch.ones(2, 3)).shape, (2, 3))

    def test_an_index_on_the_host_comes_to_the_card(self):
        def forward(m, x):
            return m.fc(x)[:, torch.tensor([0, 2])]

        program = program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 3))[""]
        calls = calls_of(program)
        self.assertEqual([call[0] for call in calls], ["linear", "empty", "index"])
        (brought,) = calls[1][2]
        self.assertEqual(program["values"][brought], ["int64", [2]])
        self.assertEqual(calls[2][1][1], [None, f"%{brought}"])
        self.assertIn([brought, 2], program["ends"])

    def test_a_parameter_that_is_replaced(self):
        def forward(m, x):
            m.fc.weight.data = m.fc.weight.data.clamp(-1, 1)
            return m.fc(x)

        program = program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 8))[""]
        calls = calls_of(program)
        clamp = next(i for i, call in enumerate(calls) if call[0] == "clamp")
        (made,) = calls[clamp][2]
        self.assertIn([made, clamp], program["ends"])  # from then on it is the parameter, and the old one is gone

    def test_what_is_taken_apart_runs_in_fp32_where_autocast_says_so(self):
        def forward(m, x):
            return nn.functional.triplet_margin_loss(m.fc(x), m.fc(x + 1), m.fc(x + 2))

        calls = calls_of(program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 8))[""])
        self.assertEqual([call[3]["amp"] for call in calls if call[0] == "to"], ["float"] * 3)

    def test_operands_that_autocast_makes_the_widest(self):
        forward = lambda m, x: torch.tensordot(m.fc(x), m.fc.weight, dims=([1], [0]))
        calls = calls_of(program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 8))[""])
        self.assertEqual([call[3]["amp"] for call in calls if call[0] == "to"], ["float"] * 2)
        (product,) = [call for call in calls if call[0] == "mm"]
        self.assertEqual(product[3], {"autocast": False})

    def test_a_buffer_that_is_assigned(self):
        class Norm(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(3))

            def forward(self, x):
                self.mean = 0.9 * self.mean + x.detach().mean(0)
                return x - self.mean

        program = _program.record_program(Norm(), (torch.zeros(2, 3),), {}, 2, True, _exporting.main_output)[0][""]
        calls = calls_of(program)
        (made,) = next(call[2] for call in calls if call[0] == "add")
        at = next(i for i, call in enumerate(calls) if call[0] == "add")
        self.assertIn([made, at], program["ends"])  # from then on it is the buffer, and the old one is gone

    def test_a_leaf_that_the_code_makes(self):
        def forward(m, x):
            return m.fc(x) * torch.zeros(8, device=x.device, requires_grad=True)

        calls = [call[0] for call in program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 8))[""]["calls"]]
        self.assertEqual(calls[-2:], ["vramplan.leaf", "aten.mul.Tensor"])

    def test_vmap_is_recorded_on_whole_tensors(self):
        forward = lambda m, x: torch.vmap(lambda row: torch.tanh(m.fc(row)))(x)
        program = program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 8))[""]
        self.assertEqual(calls_of(program)[-1][0], "tanh")
        self.assertEqual(program["values"][program["returned"][0]], ["float32", [[0, 1], 8]])

    def test_attention_is_one_call_in_inference(self):
        attention = nn.MultiheadAttention(8, 2, batch_first=True)
        forward = lambda m, x: m.attention(x, x, x)
        for training, ending, name in (
            (False, "", "_native_multi_head_attention"), (False, "-amp", "softmax"), (True, "", "softmax"),
        ):  # fmt: skip
            program = program_of(forward, torch.zeros(2, 5, 8), training=training, attention=attention)[ending]
            self.assertIn(name, [call[0] for call in calls_of(program)])

    def test_operators_that_ask_cuda_for_a_card(self):
        forward = lambda m, x: m.cell(x, m.cell(x)).softmax(1)
        program = program_of(forward, torch.zeros(2, 3), cell=nn.GRUCell(3, 8))[""]
        self.assertEqual([call[0] for call in calls_of(program)][-2:], ["gru_cell", "softmax"])
        self.assertNotIn("amp", calls_of(program)[-1][-1])  # CUDA's autocast makes fp32 of it; that of the host would not

    def test_what_a_loss_holds_is_on_the_card_in_inference_too(self):
        loss = nn.CrossEntropyLoss(weight=torch.ones(1 << 20))
        told = [
            vramplan.estimate(nn.Linear(4, 4), torch.zeros(2, 4), mode="infer", loss=of, target=torch.zeros(2).long())
            for of in (nn.CrossEntropyLoss(), loss)
        ]
        self.assertEqual(told[1].peak.requested - told[0].peak.requested, 4 << 20)

    def test_values_that_only_the_data_knows(self):
        class Checked(nn.Module):
            def forward(self, x):
                if (x < 0).any():
                    raise ValueError("negative")
                return x * x.max().item()

        record = lambda **how: _program.record_program(Checked(), (torch.zeros(2, 3),), {}, 2, True, _exporting.main_output, **how)
        with self.assertRaises(_calls.ValuesDecide):
            record()
        program, _, notes = record(guesses=True)
        self.assertEqual(calls_of(program[""])[-1][0], "mul")
        self.assertEqual([note.split("; ")[1] for note in notes], ["it is assumed to be False", "it is assumed to be 1.0"])

    def test_what_is_put_around_a_model(self):
        model = Net()
        for wrapped, word in ((nn.DataParallel(model), "DataParallel"), (torch.compile(model), "compiled")):
            inside, notes = _exporting.unwrapped(wrapped)
            self.assertIs(inside, model)
            self.assertIn(word, notes[0])
        told = [vramplan.estimate(m, torch.zeros(2, 8), loss="mse") for m in (model, nn.DataParallel(model))]
        self.assertEqual(told[0].peak, told[1].peak)
        self.assertIn("DataParallel", told[1].notes[0].text)

    def test_what_cannot_be_followed(self):
        for forward in (
            lambda m, x: x * 2 if x.shape[0] == 2 else x,
            lambda m, x: m.fc(x) if m.fc(x).sum() > 0 else x,
        ):
            with self.assertRaises(Exception):
                program_of(forward, torch.zeros(2, 3), fc=nn.Linear(3, 3))

    def test_the_model_is_as_it_was(self):
        model = Net().eval()
        model.cache = None
        before = {name: id(tensor) for name, tensor in [*model.named_parameters(), *model.named_buffers()]}
        _program.record_program(model, (torch.zeros(2, 8),), {}, 2, True, _exporting.main_output)
        after = {name: id(tensor) for name, tensor in [*model.named_parameters(), *model.named_buffers()]}
        self.assertEqual(before, after)
        self.assertFalse(model.training)

    def test_the_file_is_read_as_an_exported_one(self):
        with tempfile.TemporaryDirectory() as folder:
            _exporting.record(Net(), torch.zeros(2, 8), folder + "/program.onnx", optimizer=torch.optim.AdamW)
            vramplan.export(Net(), torch.zeros(2, 8), folder + "/exported.onnx", optimizer=torch.optim.AdamW)
            told = [vramplan.estimate(folder + f"/{name}.onnx", batch=64, loss="mse") for name in ("program", "exported")]
        self.assertEqual(told[0].peak, told[1].peak)
        self.assertEqual(told[0].json["model"]["parameters"], told[1].json["model"]["parameters"])


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

    def test_a_loss_that_can_be_called(self):
        model = nn.Sequential(nn.Linear(64, 64), nn.Tanh())
        given = {"gpu": "t4", "framework": "pytorch@2.10"}
        x = torch.zeros(8, 64)
        known = vramplan.estimate(model, x, loss=nn.functional.l1_loss, **given)
        asked = vramplan.estimate(model, x, loss=lambda out, y: nn.functional.l1_loss(out, y), target=x.clone(), **given)
        self.assertEqual(asked.peak, known.peak)
        with self.assertRaisesRegex(vramplan.UsageError, "what a loss is called with"):
            vramplan.estimate(model, x, loss="mse", target=x, **given)

    def test_a_target_of_another_length_than_the_batch(self):
        model, inputs, asked = nn.Linear(8, 4), torch.zeros(2, 8), {"gpu": "t4", "optimizer": torch.optim.SGD}
        for target in (torch.zeros(3, 4), {"a": torch.zeros(3, 4)}, [torch.zeros(3, 4)]):
            with self.assertRaisesRegex(vramplan.UsageError, "target: its first axis is 3 long, and the batch of example_inputs is 2"):
                vramplan.estimate(model, inputs, loss=lambda output, target: output.sum(), target=target, **asked)
        for target in (torch.zeros(2, 4), torch.zeros(6), torch.tensor(1.0), [torch.zeros(3), torch.zeros(5)]):  # of each sample, token, all
            vramplan.estimate(model, inputs, loss=lambda output, target: output.sum(), target=target, **asked)

    def test_a_loss_of_ones_own_at_every_batch(self):
        def loss(output, target):
            assert output.shape == target.shape
            return (output - target).square().mean()

        model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))
        told = []
        for batch in (1, 2, 3):
            images = torch.zeros(batch, 3, 16, 16)
            asked = {"gpu": "t4", "batch": 4, "optimizer": torch.optim.AdamW, "loss": loss, "target": images}
            told.append(vramplan.estimate(model, images, **asked).peak)
        self.assertEqual(told[0], told[1])
        self.assertEqual(told[0], told[2])

    def test_a_loss_may_look_at_labels_of_any_type(self):
        def loss(output, target):
            if torch.max(target) > 2:
                raise ValueError("no such class")
            return (output[:, :1] - target).square().mean()

        model = nn.Conv2d(3, 8, 3, padding=1)
        told = vramplan.estimate(
            model, torch.zeros(2, 3, 8, 8), gpu="t4", optimizer=torch.optim.SGD, loss=loss, target=torch.ones(2, 1, 8, 8)
        )
        self.assertEqual(told.json["schema"], "vramplan.estimate/1")

    def test_the_precision_is_that_of_the_parameters(self):
        model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 8)).bfloat16()
        how = {"gpu": "a10", "optimizer": torch.optim.SGD, "loss": nn.CrossEntropyLoss()}
        told = vramplan.estimate(model, torch.zeros(4, 64, dtype=torch.bfloat16), **how)
        self.assertIn("precision bf16 (as the file says)", str(told))
        same = vramplan.estimate(model, torch.zeros(4, 64, dtype=torch.bfloat16), precision="bf16", **how)
        self.assertEqual(told.peak, same.peak)
        self.assertEqual(vramplan.plan(model, torch.zeros(4, 64, dtype=torch.bfloat16), **how).precision, "bf16")

    def test_a_model_on_the_meta_device(self):
        with torch.device("meta"):
            model = Net()
        told = [vramplan.estimate(m, torch.zeros(2, 8), loss="mse").peak for m in (model, Net())]
        self.assertEqual(*told)
        self.assertTrue(all(tensor.is_meta for tensor in model.state_dict().values()))
        self.assertIs(model.one.weight, model.two.weight)

    def test_what_is_no_model(self):
        for model, says in (
            (nn.Linear, r"model: Linear is a class, .* \(hint: give Linear\(...\)\)"),
            (None, "model: it is None, not a model"),
            (nn.Linear(8, 8).state_dict(), "model: it is of type OrderedDict, not a model"),
        ):
            for ask in (vramplan.fit, vramplan.estimate, vramplan.plan, vramplan.inspect):
                with self.assertRaisesRegex(vramplan.UsageError, says):
                    ask(model, torch.zeros(2, 8))

    def test_what_are_no_inputs(self):
        for inputs, says in (
            (None, "example_inputs: a model needs some"),
            ((2, 8), "example_inputs: .* may be a shape .*torch.zeros\\(2, 8\\)"),
            (8.0, "example_inputs: they are of type float"),
        ):
            with self.assertRaisesRegex(vramplan.UsageError, says):
                vramplan.fit(nn.Linear(8, 8), inputs, gpu="t4")

    def test_what_ends_a_step_of_pytorch_is_told_as_it_tells_it(self):
        class Quiet(nn.Module):
            def __init__(self, context):
                super().__init__()
                self.fc, self.context = nn.Linear(8, 4), context

            def forward(self, x):
                with self.context():
                    return self.fc(x)

        x, y, images = torch.zeros(2, 8), torch.zeros(2, 4), torch.zeros(2, 3, 8, 8)
        scalar, no_grad = "grad can be implicitly created only for scalar outputs", "element 0 of tensors does not require grad"
        dtype = "mat1 and mat2 must have the same dtype, but got Float and BFloat16"
        square = lambda out, target: (out - target).square()
        for model, inputs, asked, says in (
            (nn.Linear(8, 4), x, {"loss": square, "target": y}, r"loss: it gives \[2, 4\] numbers, .*" + scalar),
            (nn.Linear(8, 4), x, {"loss": nn.MSELoss(reduction="none"), "target": y}, r"loss: it gives \[2, 4\] numbers, .*" + scalar),
            (nn.Linear(8, 4), x, {"loss": nn.MSELoss(reduction="none")}, 'loss: with reduction="none" .*' + scalar),
            (nn.Linear(8, 4), x, {"loss": lambda out, t: square(out, t).mean().detach(), "target": y}, "loss: .*" + no_grad),
            (nn.Linear(8, 4), x, {"loss": lambda out, t: out.argmax(), "target": y}, "loss: .*" + no_grad),
            (nn.Linear(8, 4), x, {"loss": lambda out, t: None, "target": y}, "loss: it gives a NoneType, and no tensor"),
            (Quiet(torch.no_grad), x, {}, "model: its forward gives nothing with a gradient.*" + no_grad),
            (Quiet(torch.inference_mode), x, {}, "model: its forward gives nothing with a gradient.*" + no_grad),
            (nn.Linear(8, 4).bfloat16(), x, {}, r"example_inputs: PyTorch stops at linear: " + dtype),
            (nn.Sequential(nn.Linear(8, 4)).bfloat16(), x, {"mode": "infer"}, r"example_inputs: PyTorch stops at 0 \(linear\): " + dtype),
            (nn.Conv2d(3, 4, 3).bfloat16(), images, {}, r"Input type \(Float\) and weight type \(BFloat16\) should be the same"),
            (nn.LayerNorm(8).bfloat16(), x, {}, "expected scalar type Float but found BFloat16"),
        ):  # fmt: skip
            for ask in (vramplan.fit, vramplan.estimate):
                with self.subTest(says=says), self.assertRaisesRegex(vramplan.UsageError, says):
                    ask(model, inputs, gpu="t4", **asked)
        with self.assertRaisesRegex(vramplan.UsageError, dtype):
            vramplan.plan(nn.Linear(8, 4).bfloat16(), x, gpu="a10")
        # What trains, or is not to be trained.
        for model, inputs, asked in (
            (nn.Linear(8, 4), x, {"loss": lambda out, target: square(out, target).sum().reshape(1), "target": y}),
            (nn.Linear(8, 4), x, {"loss": square, "target": y, "mode": "infer"}),
            (Quiet(torch.no_grad), x, {"mode": "infer"}),
            (nn.Linear(8, 4).bfloat16(), x, {"precision": "amp-bf16"}),  # autocast casts both
            (nn.BatchNorm2d(3), images.bfloat16(), {}),
        ):  # fmt: skip
            vramplan.estimate(model, inputs, gpu="a10", **asked)

    def test_pytorch_says_what_is_told(self):
        """The texts above, as PyTorch has them."""
        fc, x = nn.Linear(8, 4), torch.zeros(2, 8)
        for step, says in (
            (lambda: fc(x).backward(), "grad can be implicitly created only for scalar outputs"),
            (lambda: fc(x).detach().sum().backward(), "element 0 of tensors does not require grad and does not have a grad_fn"),
            (lambda: nn.Linear(8, 4).bfloat16()(x), "mat1 and mat2 must have the same dtype, but got Float and BFloat16"),
        ):
            with self.assertRaisesRegex(RuntimeError, says):
                step()

    def test_another_precision_than_the_models_own_is_that_of_a_cast_model(self):
        make = lambda: nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Linear(64, 8))
        how = {"gpu": "a10", "optimizer": torch.optim.SGD, "loss": nn.CrossEntropyLoss()}
        x = torch.zeros(4, 64)
        for precision in ("fp32", "tf32", "fp16"):
            cast = vramplan.estimate(make().bfloat16(), x.bfloat16(), precision=precision, **how)
            self.assertEqual(cast.peak, vramplan.estimate(make(), x, precision=precision, **how).peak)
            self.assertIn(f"asked about in {precision}", cast.notes[0].text)
        own = vramplan.estimate(make().bfloat16(), x.bfloat16(), **how)
        self.assertLess(own.peak.requested, cast.peak.requested + 1)
        self.assertEqual([note.code for note in own.notes if note.code == "export"], [])
        double = vramplan.estimate(make().double(), x.double(), precision="fp32", **how)
        self.assertEqual(double.peak, vramplan.estimate(make(), x, precision="fp32", **how).peak)
        with tempfile.TemporaryDirectory() as folder:  # of a file the calls are there, in its types
            vramplan.export(make().bfloat16(), x.bfloat16(), folder + "/model.onnx")
            with self.assertRaisesRegex(vramplan.UsageError, "--precision: the parameters of .* are in bf16, and in fp32 it is another model"):
                vramplan.estimate(folder + "/model.onnx", precision="fp32")

    def test_what_a_loop_holds_of_an_output_is_said(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(64, 4096)

            def forward(self, x, labels):
                logits = self.fc(x)
                return {"loss": nn.functional.cross_entropy(logits.float(), labels), "logits": logits}

        inputs = {"x": torch.zeros(2, 64), "labels": torch.zeros(2, dtype=torch.long)}
        told = vramplan.estimate(Model(), inputs, batch=512, gpu="a10")
        (held,) = (a for a in told.assumptions if a.code == "kept-outputs")
        self.assertIn("the loop holds all that the forward returns", held.text)
        self.assertLess(held.requested.low, held.requested.likely)
        self.assertEqual(held.requested.likely, held.requested.high)
        named = vramplan.estimate("gpt2", batch=4, gpu="a10")
        (held,) = (a for a in named.assumptions if a.code == "kept-outputs")
        self.assertIn("the loop holds the loss alone", held.text)
        self.assertLess(held.requested.likely, held.requested.high)
        self.assertNotIn("vramplan.fit", " ".join(a.settle for a in named.assumptions))

    def test_an_optimizer_that_needs_more_than_parameters(self):
        class Odd(torch.optim.Optimizer):
            def __init__(self, parameters, closure):
                super().__init__(parameters, {})

        with self.assertRaisesRegex(vramplan.UsageError, "optimizer: .* is not one that vramplan knows"):
            vramplan.estimate("gpt2", gpu="t4", optimizer=Odd)

    def test_several_cards(self):
        for gpu in ("t4,l4", ["t4", "l4"]):
            self.assertIn(" on 2 of 2 cards", vramplan.fit(nn.Linear(8, 8), torch.zeros(2, 8), gpu=gpu).verdict)

    def test_a_loss_by_its_class(self):
        by_class, made = (
            vramplan.fit(nn.Linear(8, 8), torch.zeros(2, 8), gpu="t4", loss=loss) for loss in (nn.MSELoss, nn.MSELoss())
        )
        self.assertEqual(by_class, made)

    def test_a_scripted_model_is_an_error_in_a_line(self):
        with self.assertRaises(vramplan.VramplanError):
            vramplan.fit(torch.jit.script(nn.Linear(8, 8)), torch.zeros(2, 8), gpu="t4")

    def test_no_folder_of_its_own_is_told(self):
        fit = vramplan.fit(nn.Linear(8, 8), torch.zeros(2, 8), gpu="t4")
        self.assertEqual(fit.json["model"]["file"], "Linear")
        with self.assertRaisesRegex(vramplan.VramplanError, "^[^/]*$"):
            vramplan.fit(nn.Linear(8, 8), torch.zeros(2, 8), gpu="t4", frozen="nowhere")

    def test_estimate_takes_the_batch_of_the_example(self):
        self.assertEqual(vramplan.estimate(Net(), torch.zeros(5, 8), mode="infer").batch, 5)

    @unittest.skipIf(torch.version.cuda is None, "a pretend card needs a wheel for CUDA")
    def test_run(self):
        script = ROOT / "tests" / "pretend" / "torch" / "train.py"
        run = vramplan.run([script, 64], gpu="t4", steps=2)
        self.assertTrue(run.fits)
        self.assertEqual((run.gpu, run.steps), ("Tesla T4", 2))
        self.assertLessEqual(run.peak.requested, run.peak.allocated)
        self.assertTrue(run.html.startswith("<!doctype html>"))
        self.assertEqual(repr(run), f"<vramplan.Run: {run.verdict}>")
        self.assertFalse(vramplan.run(f"{script} 8192", gpu="t4").fits)
        searched = vramplan.run([script, "{batch}"], gpu="t4", largest="batch=64:128", steps=2)
        self.assertEqual(searched.largest, 128)
        with self.assertRaises(vramplan.InputError):
            vramplan.run(["no-such-command"], gpu="t4")

    @unittest.skipIf(torch.version.cuda is None, "a pretend card needs a wheel for CUDA")
    def test_a_model_that_no_exporter_takes_runs_itself(self):
        import stubborn

        how = {"gpu": "t4", "loss": nn.functional.mse_loss, "optimizer": torch.optim.SGD}
        told = vramplan.estimate(stubborn.Stubborn(), torch.zeros(2, 512), batch=64, **how)
        self.assertEqual(told.json["schema"], "vramplan.run/1")
        self.assertTrue(told.notes[0].text.startswith("its calls cannot be recorded"))
        self.assertGreater(told.peak.requested, 2 * 512 * 512 * 4)
        self.assertLessEqual(told.peak.requested, told.peak.allocated)
        # A name is no loss that a script could call, so the comparison is guessed.
        told = vramplan.estimate(stubborn.Stubborn(), torch.zeros(2, 512), gpu="t4", loss="mse")
        self.assertEqual(told.json["schema"], "vramplan.estimate/1")
        self.assertIn("stubborn.py:16 looks at a value that only the data knows; it is assumed to be False", told.notes[0].text)

    @unittest.skipIf(torch.version.cuda is None, "a pretend card needs a wheel for CUDA")
    def test_what_an_exporter_takes_and_no_recording_runs_itself(self):
        import stubborn

        how = {"gpu": "t4", "loss": nn.functional.mse_loss, "optimizer": torch.optim.SGD}
        told = vramplan.estimate(stubborn.Switching(), torch.zeros(2, 512), batch=64, **how)
        self.assertEqual(told.json["schema"], "vramplan.run/1")
        # A script is told no checkpoints, so the exporter's file answers.
        told = vramplan.estimate(stubborn.Switching(), torch.zeros(2, 512), batch=64, checkpoint=["linear"], **how)
        self.assertEqual(told.json["schema"], "vramplan.estimate/1")

    def test_a_list_has_an_item_for_each_sample(self):
        images = [torch.zeros(3, 8, 8)] * 5
        for inputs in ((images, {"boxes": torch.zeros(2, 4)}), {"images": images}, ((images,), {})):
            self.assertEqual(_exporting.batch_of(inputs), 5)
        self.assertEqual(_exporting.batch_of([torch.zeros(2, 8), torch.zeros(7)]), 2)  # a list of arguments

    def test_inputs_that_the_model_does_not_take_are_one_line(self):
        with self.assertRaises(vramplan.UsageError) as raised, contextlib.redirect_stderr(io.StringIO()) as said:
            vramplan.fit(Net(), torch.zeros(2, 9), gpu="t4", loss="mse")
        self.assertIn("PyTorch stops at one (linear), ", str(raised.exception))
        self.assertIn("mat1 and mat2 shapes cannot be multiplied (2x9 and 8x8)", str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))
        self.assertEqual(said.getvalue(), "")

    def test_what_a_forward_returns(self):
        named = {"hidden": torch.zeros(1), "logits": torch.ones(2)}
        self.assertEqual(_exporting.main_output(named).shape, (2,))
        self.assertEqual(len(_exporting.main_output((torch.zeros(1), torch.zeros(1)))), 2)
        Out = dataclasses.make_dataclass("Out", ["hidden", "logits"])
        self.assertEqual(_exporting.main_output(Out(**named)).shape, (2,))
        with self.assertRaises(vramplan.ExportError):
            _exporting.main_output("text")

    def test_apply(self):
        model = nn.Sequential(*(nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(8)))
        plan = vramplan.plan(model, torch.zeros(2, 512), gpu="t4", batch=200000, accumulate=1, loss="mse")
        self.assertTrue(plan.fits)
        self.assertTrue(plan.checkpoint)
        optimizer = torch.optim.Adam(model.parameters())
        applied = vramplan.apply(plan, model, optimizer)
        self.assertIs(applied.model, model)
        self.assertEqual(applied.batch * applied.accumulate, 200000)
        self.assertEqual(optimizer.param_groups[0]["fused"], plan.optimizer_impl == "fused")
        for path in plan.checkpoint:
            self.assertIn("forward", model.get_submodule(path).__dict__)
        with self.assertRaisesRegex(vramplan.UsageError, "model: it is not the one that was planned"):
            vramplan.apply(plan, nn.Linear(512, 512))
        with self.assertRaisesRegex(vramplan.UsageError, "optimizer: it is the class Adam"):
            vramplan.apply(plan, model, torch.optim.Adam)
        with self.assertRaisesRegex(vramplan.UsageError, "model: Linear is a class"):
            vramplan.apply(plan, nn.Linear)
        hf = vramplan.plan(model, torch.zeros(2, 512), gpu="t4", batch=64, loss="mse", optimizer="adamw", emit="hf")
        with self.assertRaisesRegex(vramplan.UsageError, "plan: its code is that of emit='hf'"):
            vramplan.apply(hf, model)

    def test_suggested_batch(self):
        batch = vramplan.suggest_batch_size(Net(), torch.zeros(2, 8), gpu="t4", power_of_two=True, loss="mse")
        self.assertEqual(batch & (batch - 1), 0)


if __name__ == "__main__":
    unittest.main()
