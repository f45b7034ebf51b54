"""`vramplan mcp` as the protocol's own client sees it: it lists every tool, calls every tool, and holds what comes against
the tool's outputSchema. Exit code 77 where the package mcp is not installed."""

import asyncio
import os
import pathlib
import sys

try:
    import mcp
    from mcp.client.stdio import StdioServerParameters, stdio_client
except ImportError:
    print("the Python package mcp is not installed")
    sys.exit(77)
import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNET = str(ROOT / "models" / "unet.onnx")
LOG = (ROOT / "tests" / "data" / "oom" / "t4.log").read_text()
CALLS = (
    ("fit", {"model": UNET, "gpu": "t4", "precision": "amp-fp16"}, "unet.onnx trains on Tesla T4"),
    ("fit", {"model": "llama-3.1-8b", "gpu": "rtx-4090", "lora": 16, "dims": {"sequence": 2048}, "checkpoint": ["all"]}, "llama-3.1-8b trains on"),
    ("fit", {"model": UNET, "gpu": "all"}, "unet.onnx"),
    ("fit", {"model": UNET, "gpu_memory": "1GiB", "batch": 64}, "unet.onnx"),
    ("plan", {"model": UNET, "gpu_memory": "8GiB", "batch": 24, "optimizer": "adamw", "emit": "hf"}, "unet.onnx training at batch 24"),
    ("plan", {"model": UNET, "gpu": "t4", "emit": "hf"}, "unet.onnx"),  # no name for adam: the second text says so
    ("explain", {"log": LOG, "model": UNET}, ""),
    ("models", {"text": "qwen3"}, "qwen3"),
    ("gpus", {"text": "t4"}, "Tesla T4"),
)
WRONG = (
    ("fit", {"model": "nowhere.onnx", "gpu": "t4"}, "nowhere.onnx"),
    ("fit", {"model": UNET, "gpu": "t5"}, "t4"),
    ("fit", {"model": UNET, "gpu": "t4", "options": {"out": "/tmp/x"}}, "is no option"),
    ("explain", {"log": "all is well"}, ""),
)


def of(one, *names):
    """An attribute by any of its names: they differ from version to version of the client."""
    for name in names:
        if hasattr(one, name):
            return getattr(one, name)
    raise AttributeError(names)


async def use():
    program = os.environ["VRAMPLAN_BINARY"]
    async with stdio_client(StdioServerParameters(command=program, args=["mcp"])) as streams:
        async with mcp.ClientSession(*streams) as session:
            hello = await session.initialize()
            assert of(hello, "server_info", "serverInfo").name == "vramplan"
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert set(tools) == {name for name, _, _ in CALLS}, set(tools)
            for tool in tools.values():
                hints = tool.annotations
                assert of(hints, "read_only_hint", "readOnlyHint") and of(hints, "idempotent_hint", "idempotentHint")
            for name, arguments, begins in CALLS:
                jsonschema.validate(arguments, of(tools[name], "input_schema", "inputSchema"))
                result = await session.call_tool(name, arguments)
                assert not of(result, "is_error", "isError"), (name, result.content)
                assert begins in result.content[0].text.splitlines()[0] or begins in result.content[0].text, (name, result.content[0].text)
                answer = of(result, "structured_content", "structuredContent")
                jsonschema.validate(answer, of(tools[name], "output_schema", "outputSchema"))
                assert answer["schema"] == f"vramplan.{name}/1"
                assert len(result.content) == (2 if "emit" in arguments else 1)
            for name, arguments, says in WRONG:
                result = await session.call_tool(name, arguments)
                assert of(result, "is_error", "isError") and says in result.content[0].text, (name, result)
    print(f"{len(tools)} tools listed, {len(CALLS) + len(WRONG)} calls")


asyncio.run(asyncio.wait_for(use(), 60))
