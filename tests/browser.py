"""A browser on the page of vramplan ui, through Chromium's debugging pipe (--remote-debugging-pipe): keys, files and pictures
as a person gives them. What the tests of tests/ui_test.sh stand on; the standard library alone.

    with Browser("chromium") as browser:
        browser.open("http://127.0.0.1:8040/TOKEN/", width=390, dark=True)
        browser.evaluate("document.title")
"""

import base64
import json
import os
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, program):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()

        def as_3_and_4():
            kept = os.dup(to_read), os.dup(from_write)
            os.dup2(kept[0], 3)
            os.dup2(kept[1], 4)

        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             "--user-data-dir=" + self._folder.name, "about:blank"],
            preexec_fn=as_3_and_4, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self._buffer, self._next, self.complaints, self._session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._folder.cleanup()

    def _message(self):
        while b"\0" not in self._buffer:
            came = os.read(self._from, 1 << 20)
            if not came:
                raise RuntimeError("the browser has ended")
            self._buffer += came
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            came = self._message()
            if came.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(came["params"]["exceptionDetails"].get("exception", {}).get("description", "exception"))
            if came.get("method") == "Log.entryAdded":
                self.complaints.append(came["params"]["entry"]["text"])
            if came.get("id") == self._next:
                if "error" in came:
                    raise RuntimeError(method + ": " + came["error"]["message"])
                return came["result"]

    def open(self, address, width, height=900, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=address)

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(script + ": " + str(result["exceptionDetails"].get("exception", {}).get("description")))
        return result["result"].get("value")

    def wait(self, script, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.evaluate(script):
                return True
            time.sleep(0.02)
        return False

    def key(self, name, text="", code=0, modifiers=0):
        kind = {"key": name, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **kind)
        self.call("Input.dispatchKeyEvent", type="keyUp", **kind)

    def type(self, text):
        for letter in text:
            self.key(letter, letter, ord(letter.upper()))

    def tab(self, back=False):
        self.key("Tab", code=9, modifiers=8 if back else 0)

    def drop(self, path, x=200, y=300):
        data = {"items": [], "files": [path], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def picture(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
