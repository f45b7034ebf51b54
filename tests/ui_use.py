"""What a person does with the page of vramplan ui, and whether it shows what the command line says (tests/ui_test.sh)."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from browser import Browser

PROGRAM = os.environ["VRAMPLAN_PROGRAM"]
SHOTS = os.environ.get("VRAMPLAN_SCREENSHOTS")
OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.56 GiB of which "
       "1.11 GiB is free. Including non-PyTorch memory, this process has 13.44 GiB memory in use. Of the allocated memory "
       "12.93 GiB is allocated by PyTorch, and 384.51 MiB is reserved by PyTorch but unallocated.")
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
checked = wrong = 0


def expect(what, right, said=""):
    global checked, wrong
    checked += 1
    if not right:
        wrong += 1
        print(what + (": " + str(said) if said != "" else ""))


def command_line(command, text=""):
    words = shlex.split(command.removesuffix(" < message.txt"))
    assert words[0] == "vramplan"
    done = subprocess.run([PROGRAM, *words[1:]], input=text, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    return done.stdout, done.stderr


class Page:
    """The page, used."""

    def __init__(self, browser, address, width, dark):
        self.browser, self.name = browser, f"{width}-{'dark' if dark else 'light'}"
        browser.open(address, width, dark=dark)
        self.answers = 0
        self.wait()

    def wait(self):
        self.answers += 1
        done = self.browser.wait(f"Number(document.body?.dataset.answered ?? 0) >= {self.answers}")
        expect(self.name + ": it answers", done)
        self.answers = int(self.browser.evaluate("document.body.dataset.answered ?? 0"))

    def text(self, place):
        return self.browser.evaluate(f"document.querySelector({json.dumps(place)})?.textContent ?? ''")

    def error(self):
        return "" if self.browser.evaluate("document.getElementById('error').hidden") else self.text("#error")

    def focused(self):
        return self.browser.evaluate("document.activeElement.id")

    def to(self, wanted, back=False):
        """By the Tab key alone."""
        for _ in range(60):
            if self.focused() == wanted:
                return
            self.browser.tab(back)
        expect(f"{self.name}: Tab comes to {wanted}", False, self.focused())

    def same_as_the_command_line(self, what, text="", folder=None):
        command = self.text("#command")
        if folder is not None:
            name = shlex.split(command)[2]
            command = command.replace(shlex.quote(name), shlex.quote(os.path.join(folder, name)), 1)
        out, err = command_line(command, text)
        expect(f"{self.name}: {what}: no error", self.error() == "", self.error())
        expect(f"{self.name}: {what}: the text is that of {command}", self.text("#plain-text") == out, err)
        verdict, headline = " ".join(out.split()), " ".join(self.text("#answer h1").split())
        expect(f"{self.name}: {what}: the headline is its first line", verdict.startswith(headline) and headline != "", headline)

    def looks(self, name):
        overlapping = self.browser.evaluate("""(() => {
          const shown = [...document.querySelectorAll('#answer figure :is(.tick,.limit,.peak,.flag,.axis,.numbers) span, #answer .axis')]
            .map((one) => [one, one.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
          const found = [];
          for (const [a, one] of shown) for (const [b, other] of shown) {
            if (a === b || a.contains(b) || b.contains(a)) continue;
            const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
            const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
            if (wide > 2 && high > 6) found.push(a.textContent + ' / ' + b.textContent);
          }
          return [...new Set(found)].join('; ');
        })()""")
        expect(f"{self.name}: {name}: no label lies on another", overlapping == "", overlapping)
        sideways = self.browser.evaluate("document.documentElement.scrollWidth > innerWidth")
        expect(f"{self.name}: {name}: nothing is cut at the side", not sideways)
        if SHOTS:
            self.browser.picture(os.path.join(SHOTS, f"ui-{name}-{self.name}.png"))


def begin(browser, address, width, dark):
    page = Page(browser, address, width, dark)
    page.same_as_the_command_line("at the start")
    expect(page.name + ": the file is chosen", page.text("#command").startswith("vramplan fit models/resnet50.onnx --gpu t4"))
    axes = browser.evaluate("[...document.querySelectorAll('#answer .axis')].map((axis) => axis.textContent).join()")
    expect(page.name + ": axes have titles", "bytes on the device" in axes and "batch" in axes, axes)
    page.looks("start")
    return page


def use(browser, page, folder):
    # Keys alone: another card, a batch, a precision, a slider.
    page.to("c--gpu")
    browser.type("A100-SXM4-80")
    page.wait()
    expect(page.name + ": a card by its name", " --gpu a100" in page.text("#command"), page.text("#command"))
    page.to("c--batch")
    browser.type("64")
    page.wait()
    browser.wait("document.getElementById('command').textContent.includes('--batch 64')")
    page.same_as_the_command_line("batch 64")
    page.to("c--precision")
    browser.type("amp-bf")
    browser.wait("document.getElementById('command').textContent.includes('--precision amp-bf16')")
    page.same_as_the_command_line("amp-bf16")
    page.to("c--accumulate")
    browser.tab()
    browser.key("ArrowRight", code=39)
    browser.key("ArrowRight", code=39)
    browser.wait("document.getElementById('command').textContent.includes('--accumulate 2')")
    page.same_as_the_command_line("the slider")
    browser.wait("document.getElementById('config-text').textContent.includes('ACCUMULATE = 2')")
    config, _ = command_line(page.text("#command") + " --emit pytorch")
    expect(page.name + ": the configuration", page.text("#config-text") == config and "BATCH = 64" in config)
    page.looks("asked")

    # What cannot be answered is said where it was asked; the next answer takes it away.
    page.to("c--checkpoint", back=True)
    browser.type("nowhere")
    browser.wait("!document.getElementById('error').hidden && document.getElementById('command').textContent.endsWith('nowhere')")
    _, err = command_line(page.text("#command"))
    expect(page.name + ": the error is the command line's", page.error() and page.error() in err, page.error())
    page.looks("error")
    for _ in "nowhere":
        browser.key("Backspace", code=8)
    browser.wait("!document.getElementById('command').textContent.includes('checkpoint')")
    page.same_as_the_command_line("the error is gone")

    # A model by its name: its length is a control.
    browser.evaluate("document.getElementById('subject').focus()")
    browser.type("smollm-135m")
    browser.wait("document.querySelector('#answer h1').textContent.startsWith('smollm-135m')")
    expect(page.name + ": a name has its length", browser.evaluate("document.getElementById('length-sequence')?.value") == "512")
    page.same_as_the_command_line("a name")
    page.looks("name")

    # Files are dropped; a message is pasted.
    browser.drop(os.path.join(folder, "dropped.onnx"))
    expect(page.name + ": the dropped file", browser.wait("document.querySelector('#answer h1').textContent.startsWith('dropped.onnx')"))
    browser.wait("document.body.dataset.answered > 0")
    page.same_as_the_command_line("a dropped file", folder=folder)
    browser.drop(os.path.join(folder, "record.csv"))
    expect(page.name + ": the dropped record", browser.wait("document.querySelector('#answer h1').textContent.startsWith('record.csv')"),
           page.error() or page.text("#answer h1"))
    page.same_as_the_command_line("a record", folder=folder)
    page.to("paste", back=True)
    browser.key("Enter", "\r", 13)
    browser.wait("document.getElementById('message').open")
    browser.call("Input.insertText", text=OOM)
    browser.tab()
    browser.key("Enter", "\r", 13)
    browser.wait("document.getElementById('command').textContent.startsWith('vramplan explain')")
    page.same_as_the_command_line("a message", OOM)
    page.looks("message")


def status(address, **headers):
    try:
        return urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code


def main():
    folder = tempfile.mkdtemp()
    shutil.copy("models/mlp.onnx", os.path.join(folder, "dropped.onnx"))
    shutil.copy("tests/fuzz/corpus/record_fuzz/layers.csv", os.path.join(folder, "record.csv"))
    private = tempfile.mkdtemp()
    server = subprocess.Popen([PROGRAM, "ui", "models/resnet50.onnx"], stdout=subprocess.PIPE, text=True,
                              env={**ENVIRONMENT, "TMPDIR": private})
    address = server.stdout.readline().strip()
    try:
        expect("with the token", status(address) == 200)
        expect("without the token", status(address.rsplit("/", 2)[0] + "/") == 403)
        expect("another host", status(address, Host="rebound.example") == 403)
        expect("another page", status(address + "start", Origin="http://other.example") == 403)
        with Browser(os.environ["CHROMIUM"]) as browser:
            for width in (1280, 390):
                for dark in (False, True):
                    page = begin(browser, address, width, dark)
                    if dark == (width < 500):
                        use(browser, page, folder)
                    expect(page.name + ": the console is silent", not browser.complaints, browser.complaints)
                    browser.complaints.clear()
        expect("files are opened in a private folder", os.listdir(private) and
               os.stat(os.path.join(private, os.listdir(private)[0])).st_mode & 0o777 == 0o700)
    finally:
        server.send_signal(signal.SIGINT)
        code = server.wait(timeout=20)
        expect("Ctrl-C ends it", code == 0, code)
        expect("nothing is left", os.listdir(private) == [], os.listdir(private))
        shutil.rmtree(folder)
        shutil.rmtree(private)
    print(f"{checked} checks of the page of vramplan ui, {wrong} wrong")
    sys.exit(wrong != 0 or checked == 0)


if __name__ == "__main__":
    main()
