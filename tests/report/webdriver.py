"""A browser without a window, through ChromeDriver. The standard library is all it needs."""
import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --window-size=1400,900""".split()


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp()
        # Port 0: the system chooses one, and the driver prints it.
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.address = None
        for line in self.driver.stdout:
            if "successfully on port" in line:
                self.address = "http://127.0.0.1:" + line.rstrip(".\n").rsplit(" ", 1)[1]
                break
        if not self.address:
            raise RuntimeError("chromedriver does not start")
        options = {"args": FLAGS + [f"--user-data-dir={self.profile}"], "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = ""
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.session = "/session/" + answer["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.address + self.session + path, data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, path):
        """Loads a page; returns the seconds until it is complete."""
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": path.resolve().as_uri()})
        return self.run("return performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def keys(self, text):
        """Types, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click(self, selector):
        element = self.call("POST", "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"/element/{next(iter(element.values()))}/click", {})

    def scheme(self, name):
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}})

    def messages(self):
        """What the console has said since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def until(self, script, *arguments):
        """Waits until a script returns something true."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if value := self.run(script, *arguments):
                return value
            time.sleep(0.02)
        raise AssertionError(f"never true: {script}")

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)
