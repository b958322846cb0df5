"""A headless Chromium over the DevTools protocol, by its pipe: JSON messages that end in a zero byte, on the file descriptors 3 and 4."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import zlib


def program():
    return next((found for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if found), None)


class Browser:
    """Keeps what pages say on the console, and what they throw, in `complaints`."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}"]
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", program(), *flags, "about:blank"],
                                        pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.inward, self.outward, self.rest, self.count, self.complaints, self.events = ours_in, ours_out, b"", 0, [], []
        self.session = None
        target = next(one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self.inward)
        os.close(self.outward)
        self.folder.cleanup()

    def _message(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.inward], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            part = os.read(self.inward, 1 << 16)
            if not part:
                raise ConnectionError("the browser has ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        method, more = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled" or method == "Runtime.exceptionThrown" or method == "Log.entryAdded":
            self.complaints.append(json.dumps(more)[:300])
        elif method:
            self.events.append(method)
        return message

    def ask(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.outward, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        """-> seconds until the page has loaded."""
        self.events.clear()
        begin = time.monotonic()
        self.ask("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in self.events:
            self._message(begin + 60)
        return time.monotonic() - begin

    def run(self, script):
        """-> the value of an expression, which may be a promise."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:300])
        return answer["result"].get("value")

    def media(self, kind="", dark=False):
        self.ask("Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def colours(self):
        """-> how many different colours a screenshot has: a blank one has a single one."""
        png = base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
        width, height, kind = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big"), png[25]
        body, at = b"", 8
        while at < len(png):
            size = int.from_bytes(png[at:at + 4], "big")
            if png[at + 4:at + 8] == b"IDAT":
                body += png[at + 8:at + 8 + size]
            at += size + 12
        rows, step = zlib.decompress(body), {2: 3, 6: 4}[kind]
        return len({rows[y * (width * step + 1):(y + 1) * (width * step + 1)] for y in range(height)})  # filtered rows: as different as what they show
