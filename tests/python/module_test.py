"""The Python module over the program, without torch: answers of a file as objects, errors as exceptions.

Run by tests/run; VRAMPLAN_BINARY names the program."""

import copy
import html
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import vramplan  # noqa: E402
from vramplan import _ask, _binary, _caller  # noqa: E402

UNET = ROOT / "models" / "unet.onnx"
OOM = (ROOT / "tests" / "data" / "oom" / "t4.log").read_text()


class Answers(unittest.TestCase):
    def test_fit(self):
        fit = vramplan.fit(UNET, gpu="t4", precision="amp-fp16")
        self.assertTrue(fit.fits)
        self.assertEqual(fit.to_dict()["schema"], "vramplan.fit/1")
        self.assertEqual(fit.largest_batch, fit.json["largest_batch"])
        self.assertGreater(fit.largest_batch, fit.safe_batch - 1)
        self.assertEqual(fit.peak.requested, fit.json["peak"]["requested"])
        self.assertLessEqual(fit.peak.requested, fit.peak.allocated)
        self.assertLessEqual(fit.device.low, fit.device.high)
        line = ["fit", str(UNET), "--gpu", "t4", "--precision", "amp-fp16"]
        self.assertEqual(str(fit), _binary.ask(line))
        self.assertEqual(fit.verdict, str(fit).splitlines()[0])

    def test_a_fit_that_does_not_fit_is_an_answer(self):
        fit = vramplan.fit(UNET, gpu="t4", batch=4096)
        self.assertFalse(fit.fits)

    def test_estimate(self):
        one, many = vramplan.estimate(UNET, batch=1), vramplan.estimate(UNET, batch=8, optimizer="sgd")
        self.assertEqual((one.batch, many.batch), (1, 8))
        self.assertGreater(many.categories["activations"], one.categories["activations"])
        self.assertEqual(many.categories["optimizer_state"], 0)
        self.assertIn("assumed-inplace", [note.code for note in one.notes])

    def test_options_of_the_command_line(self):
        four = vramplan.estimate(UNET, accumulate=4, frozen=["*"], trainable=["head*"], clip_grad_norm=1.0)
        self.assertEqual(four.json["spec"]["accumulate"], {"value": 4, "given": True})

    def test_plan(self):
        plan = vramplan.plan(UNET, gpu="t4", batch=64)
        self.assertTrue(plan.fits)
        self.assertEqual(plan.precision, plan.json["chosen"]["precision"])
        compile(plan.code, "plan.py", "exec")

    def test_no_plan(self):
        plan = vramplan.plan(UNET, gpu="t4", batch=4096)
        self.assertEqual((plan.fits, plan.code, plan.peak), (False, "", None))
        with self.assertRaises(vramplan.UsageError):
            vramplan.apply(plan, None)  # torch is not there, so nothing is a module

    def test_every_member_of_the_json_is_an_attribute(self):
        fit = vramplan.fit(UNET, gpu="t4")
        self.assertEqual(fit.ladder[0].precision, fit.json["ladder"][0]["precision"])
        self.assertEqual(fit.spec.optimizer.value, "adam")
        self.assertIn("first_failing_batch", dir(fit))
        with self.assertRaisesRegex(AttributeError, "Fit has no 'batches'; it has schema, verdict, model"):
            fit.batches
        with self.assertRaisesRegex(AttributeError, "no member 'total'; there are requested, allocated"):
            fit.peak.total

    def test_answers_are_values(self):
        fit, same = (vramplan.fit("gpt2", gpu="t4", checkpoint="all") for _ in range(2))
        self.assertEqual(fit, same)
        self.assertEqual(copy.deepcopy(fit), fit)
        fit.to_dict().clear()
        self.assertEqual(fit, same)
        with self.assertRaises(vramplan.UsageError):
            vramplan.fit("gpt2", gpu="t4", out="answer.json")

    def test_inspect(self):
        inspection = vramplan.inspect(UNET)
        self.assertEqual(inspection.inputs, ("x",))
        self.assertEqual(inspection.parameters, 31037633)

    def test_a_notebook_shows_the_page_in_a_frame(self):
        fit = vramplan.fit(UNET, gpu="t4")
        self.assertTrue(fit.html.startswith("<!doctype html>"))
        shown = fit._repr_html_()
        self.assertEqual(html.unescape(shown.split('srcdoc="')[1].split('"')[0]), fit.html)
        self.assertIn('sandbox="allow-scripts"', shown)
        plain = copy.copy(fit)
        plain.html = ""
        without = plain._repr_html_()
        self.assertIn("<td>largest batch</td>", without)
        self.assertIn("peak, requested", without)

    def test_short_reprs(self):
        self.assertEqual(repr(vramplan.fit(UNET, gpu="t4")), f"<vramplan.Fit: {vramplan.fit(UNET, gpu='t4').verdict}>")
        for answer in (vramplan.estimate(UNET), vramplan.plan(UNET, gpu="t4"), vramplan.inspect(UNET)):
            self.assertNotIn("\n", repr(answer))
            self.assertLess(len(repr(answer)), 300)

    def test_the_program_runs_once_for_an_answer(self):
        with unittest.mock.patch.object(_binary.subprocess, "run", wraps=subprocess.run) as started:
            for count, ask in enumerate((
                lambda: vramplan.fit(UNET, gpu="t4"),
                lambda: vramplan.estimate(UNET),
                lambda: vramplan.plan(UNET, gpu="t4"),
                lambda: vramplan.inspect(UNET),
                lambda: vramplan.sweep(UNET, over="batch=1,2"),
                lambda: vramplan.explain(OOM),
                lambda: vramplan.models(),
            ), 1):  # fmt: skip
                ask()
                self.assertEqual(started.call_count, count)

    def test_names_are_models(self):
        fit = vramplan.fit("llama-3.1-8b", lora=16, checkpoint=["all"], dim={"sequence": 2048}, gpu="rtx-4090")
        self.assertTrue(fit.verdict.startswith("llama-3.1-8b trains on GeForce RTX 4090"))
        known = {model.name: model for model in vramplan.models("qwen3")}
        self.assertEqual(known["qwen3-8b"].source, "Qwen/Qwen3-8B")
        self.assertEqual(len(vramplan.models()), len(_binary.ask_json(["models"])["models"]))

    def test_sweep(self):
        for over in (
            {"batch": [1, 2], "precision": ["fp32", "amp-fp16"]},
            {"batch": "1:2", "precision": ("fp32", "amp-fp16")},
            {"batch": range(1, 3), "precision": "fp32,amp-fp16"},
            ["batch=1,2", "precision=fp32,amp-fp16"],
        ):
            sweep = vramplan.sweep(UNET, over=over)
            self.assertEqual(sweep.axes, ("batch", "precision"))
            self.assertEqual(len(sweep.rows), 4)
            self.assertLess(sweep.rows[0]["requested"], sweep.rows[-1]["requested"])
        self.assertEqual([dict(row["values"]) for row in vramplan.sweep(UNET, over={"batch": 4}).rows], [{"batch": "4"}])

    def test_explain(self):
        told = vramplan.explain(OOM)
        self.assertEqual(told.cause, "full")
        self.assertEqual(told.message["kind"], "pytorch")
        self.assertIn("batch", str(vramplan.explain(RuntimeError(OOM), model=UNET)))
        with self.assertRaises(vramplan.InputError):
            vramplan.explain("all is well")
        log = ROOT / "tests" / "data" / "oom" / "t4.log"
        self.assertEqual(vramplan.explain(log), vramplan.explain(str(log)))

    def test_errors(self):
        with self.assertRaises(vramplan.InputError) as missing:
            vramplan.fit("nowhere.onnx", gpu="t4")
        self.assertIn("nowhere.onnx", str(missing.exception))
        self.assertNotIn("\n", str(missing.exception))
        with self.assertRaises(vramplan.UsageError) as wrong:
            vramplan.fit(UNET, gpu="t5")
        self.assertTrue(wrong.exception.hint)
        with self.assertRaises(vramplan.UsageError):
            vramplan.fit(UNET, "inputs", gpu="t4")

    def test_a_card_may_be_a_size(self):
        fit = vramplan.fit("gpt2", gpu_memory="12GiB")
        self.assertEqual(vramplan.suggest_batch_size("gpt2", gpu_memory="12GiB"), fit.safe_batch)
        with self.assertRaisesRegex(vramplan.UsageError, "no card is given"):
            vramplan.fit("gpt2")

    def test_arguments_that_are_refused(self):
        for asked in ({"checkpoint": True}, {"format": "json"}, {"out": "a.txt"}, {"precision": "float16"}):
            with self.assertRaises(vramplan.UsageError):
                vramplan.fit("gpt2", gpu="t4", **asked)

    def test_a_wrong_type_of_any_parameter_is_one_line(self):
        """Every parameter of every public function; none of these starts the program."""
        whatever = {"a": object()}  # is of no parameter's type, and holds none
        functions = {
            vramplan.fit: ("gpt2",), vramplan.estimate: ("gpt2",), vramplan.plan: ("gpt2",), vramplan.inspect: ("gpt2",),
            vramplan.sweep: ("gpt2",), vramplan.suggest_batch_size: ("gpt2",), vramplan.run: (["a"],),
            vramplan.explain: ("text",), vramplan.models: (), vramplan.apply: (None, None), vramplan.export: (None, None, None),
        }  # fmt: skip
        with unittest.mock.patch.object(_binary.subprocess, "run", side_effect=AssertionError("it was started")):
            for function, first in functions.items():
                parameters = inspect.signature(function).parameters
                for name, parameter in parameters.items():
                    if name in ("example_inputs", "target"):  # below: trees of any kind
                        continue
                    option = parameter.kind is parameter.VAR_KEYWORD
                    place = list(parameters).index(name)
                    given = [*first[:place], whatever] if place < len(first) else list(first)
                    named = {"accumulate": whatever} if option else {name: whatever} if place >= len(first) else {}
                    if function is vramplan.sweep and name != "over":
                        named["over"] = "batch=1,2"
                    with self.subTest(function=function.__name__, parameter=name):
                        with self.assertRaises(vramplan.UsageError) as wrong:
                            function(*given, *first[len(given) :], **named)
                        self.assertIn(wrong.exception.subject, ("accumulate" if option else name, *list(parameters)[:place]))
                        self.assertNotIn("\n", str(wrong.exception))
                        self.assertTrue(wrong.exception.hint)

    def test_what_a_wrong_argument_is_told(self):
        fit = vramplan.fit(UNET, gpu="t4")
        for ask, says in (
            (lambda: vramplan.fit("gpt2", gpu="t4", optimizer=3), 'optimizer: it is 3 (hint: give "adamw", torch.optim.AdamW, or an optimizer)'),
            (lambda: vramplan.fit("gpt2", gpu=["t4", 4]), "gpu: ['t4', 4] is no card's name"),
            (lambda: vramplan.fit("gpt2", gpu="t4", batch=2.5), "batch: it is 2.5 (hint: give a whole number, such as batch=8)"),
            (lambda: vramplan.fit("gpt2", gpu="t4", batch=True), "batch: it is True"),
            (lambda: vramplan.fit("--help"), "model: '--help' begins with -"),
            (lambda: vramplan.fit("gpt2", gpu="t4", help=True), "help: it is of the command line"),
            (lambda: vramplan.fit("gpt2", gpu="t4", frozen=[["*"]]), "frozen: it is of type list (hint: give text, a number"),
            (lambda: vramplan.models(3), "text: it is 3"),
            (lambda: vramplan.models("--help"), "text: '--help' begins with -"),
            (lambda: vramplan.explain(3), "message: it is 3"),
            (lambda: vramplan.run("train.py 'a"), "command: no closing quotation"),
            (lambda: vramplan.run([]), "command: it is empty"),
            (lambda: vramplan.sweep("gpt2", over={"batch": []}), "over: the values of batch are of type list"),
            (lambda: vramplan.apply(3, None), "plan: it is 3 (hint: give the Plan that vramplan.plan(model, inputs, ...) returned)"),
            (lambda: vramplan.apply(fit, None), "plan: it is of type Fit (hint: give the Plan"),
            (lambda: vramplan.export("gpt2", None, "a.onnx"), "model: it is 'gpt2', a name or a path (hint: give the torch.nn.Module"),
            (lambda: vramplan.suggest_batch_size("gpt2", gpu="all"), "gpu: 'all' names several cards, and a batch is suggested for one"),
            (lambda: vramplan.suggest_batch_size("gpt2", gpu=["t4", "l4"]), "gpu: 't4,l4' names several cards"),
            (lambda: vramplan.fit("gpt2", gpu="t4", resident="1\0"), "vramplan: an argument cannot be passed on"),
        ):  # fmt: skip
            with self.assertRaises(vramplan.UsageError) as wrong:
                ask()
            self.assertTrue(str(wrong.exception).startswith(says), f"{wrong.exception} is not: {says}")
        with self.assertRaisesRegex(vramplan.InputError, "no.log: no such file or directory"):
            vramplan.explain(pathlib.Path("no.log"))
        with unittest.mock.patch.dict(os.environ, {"VRAMPLAN_BINARY": "/nowhere/vramplan"}):
            with self.assertRaisesRegex(vramplan.VramplanError, "/nowhere/vramplan cannot be started: no such file"):
                vramplan.models()

    def test_a_plan_as_the_configuration_of_a_library(self):
        plan = vramplan.plan(UNET, gpu="t4", batch=8, optimizer="adamw", emit="hf")
        self.assertIn("TrainingArguments", plan.code)
        self.assertEqual((plan.emit, vramplan.plan(UNET, gpu="t4", batch=8).emit), ("hf", "pytorch"))

    def test_an_option_that_takes_one_value(self):
        with self.assertRaisesRegex(vramplan.UsageError, "--accumulate: is given twice, as 2 and 4"):
            vramplan.estimate("gpt2", accumulate=[2, 4])

    def test_the_capability_of_a_card(self):
        self.assertEqual(_ask._capability_of("t4"), (7, 5))
        self.assertEqual(_ask._capability_of("rtx-4090"), (8, 9))
        for several in (None, "all", "auto", "t4,l4", ["t4", "l4"]):
            self.assertIsNone(_ask._capability_of(several))
        with self.assertRaises(vramplan.UsageError):
            _ask._capability_of("no such card")

    def test_version(self):
        said = subprocess.run([_binary.binary(), "--version"], capture_output=True, text=True).stdout
        self.assertEqual(said.strip(), "vramplan " + vramplan.__version__)

    def test_torch_is_not_imported(self):
        code = "import sys, vramplan; vramplan.estimate(%r); sys.exit('torch' in sys.modules)" % str(UNET)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        self.assertEqual(subprocess.run([sys.executable, "-c", code], env=environment).returncode, 0)


class Caller(unittest.TestCase):
    """Which python `vramplan run -- python train.py` starts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for name in ("tool", "project", "system"):
            program = pathlib.Path(self.root, name, "bin", "python")
            program.parent.mkdir(parents=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)

    def found(self, path, arguments=("run", "--", "python", "train.py"), has_torch=False, **environment):
        environment["PATH"] = os.pathsep.join(f"{self.root}/{name}/bin" for name in path)
        own, base = f"{self.root}/tool", f"{self.root}/system"
        changed, line = _caller.for_command(list(arguments), environment, own, base, has_torch)
        return changed, line.replace(self.root, "")

    def test_the_environment_of_the_tool_is_passed_over(self):
        for path, active, expected in (
            (("tool", "project", "system"), None, "/project/bin/python"),
            (("tool", "system"), None, "/system/bin/python"),
            (("tool", "system"), "project", "/project/bin/python"),
            (("system",), "project", "/project/bin/python"),
            (("system", "project"), "project", "/system/bin/python"),  # as a shell finds it
            (("tool", "system"), "tool", "/system/bin/python"),
        ):
            given = {"VIRTUAL_ENV": f"{self.root}/{active}"} if active else {}
            changed, line = self.found(path, **given)
            self.assertEqual(line, f"python is {expected}", (path, active))
            self.assertNotIn("/tool/bin", changed["PATH"])
            self.assertEqual(changed.get("VIRTUAL_ENV", ""), given.get("VIRTUAL_ENV", "") if active != "tool" else "")

    def test_where_nothing_is_to_change(self):
        for arguments, has_torch in (
            (("run", "--", "python", "train.py"), True),  # vramplan was installed beside torch
            (("run", "--", "/usr/bin/python3", "train.py"), False),
            (("fit", "unet.onnx", "--gpu", "t4"), False),
            (("run", "--"), False),
        ):
            changed, line = self.found(("tool", "system"), arguments, has_torch)
            self.assertEqual((line, changed["PATH"].count("/tool/bin")), ("", 1), arguments)

    def test_a_command_that_is_nowhere(self):
        self.assertEqual(self.found(("tool", "system"), ("run", "--", "no-such-command"))[1], "")


class Schemas(unittest.TestCase):
    def test_facts(self):
        schema = json.loads((ROOT / "docs" / "facts.schema.json").read_text())
        self.assertEqual(schema["$id"], "vramplan.facts/1")
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        jsonschema.Draft202012Validator.check_schema(schema)
        text = (ROOT / "docs" / "facts.md").read_text()
        example = json.loads(text.split("```json\n")[1].split("```")[0])
        jsonschema.validate(example, schema)
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate({**example, "mode": "both"}, schema)


if __name__ == "__main__":
    unittest.main()
