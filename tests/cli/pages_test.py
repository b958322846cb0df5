#!/usr/bin/env python3
"""Pages of `assay inspect` and `assay report`: their structure, names that are hostile, and a browser that opens them. Usage: pages_test.py BIN_DIRECTORY [Pages|InABrowser]"""
import html.parser
import json
import re
import shutil
import struct
import sys
import zlib

import browser
import onnx_files
import runs
from runs import Case, DATA, DIGITS, MODEL, assay

HOSTILE = '</script><b onclick="x()">\'&'


class Reader(html.parser.HTMLParser):
    """What opens and closes, headings, tables, landmarks, ids and the data."""
    VOID = {"meta", "img", "input", "path", "rect", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.ids, self.links, self.headings, self.tags, self.data, self.attributes = [], [], [], [], [], {}, "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes.append((tag, attrs))
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if attrs.get("href", "").startswith("#"):
            self.links.append(attrs["href"][1:])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in self.VOID:
            self.open.append((tag, attrs.get("id")))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        if self.open and self.open[-1][0] == tag:
            self.open.pop()
        else:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] == ("script", "data"):
            self.data += data


def safetensors(tensors, metadata):
    header, at, body = {"__metadata__": metadata}, 0, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(raw)]}
        at, body = at + len(raw), body + raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def bent(trace, name):
    """The trace with another first element of a tensor, and its sum."""
    size = struct.unpack("<Q", trace[:8])[0]
    header, body = json.loads(trace[8:8 + size]), bytearray(trace[8 + size:])
    first, last = header[name]["data_offsets"]
    struct.pack_into("<f", body, first, struct.unpack_from("<f", body, first)[0] + 1)
    meaning = json.loads(header["__metadata__"]["assay.trace"])
    meaning["crc32"][name] = zlib.crc32(bytes(body[first:last]))
    header["__metadata__"]["assay.trace"] = json.dumps(meaning)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def long_chain(count):
    """A model of so many nodes: chains, and sums of what is further back."""
    nodes, last = [], "x"
    for i in range(count):
        if i % 4 == 3:
            nodes.append(onnx_files.node("Add", [last, f"v{i - 2}"], [f"v{i}"], f"n{i}"))
        else:
            nodes.append(onnx_files.node(("Relu", "Sigmoid", "Tanh")[i % 3], [last], [f"v{i}"], f"n{i}"))
        last = f"v{i}"
    return onnx_files.model(nodes, [onnx_files.value_info("x", [1, 4])], [onnx_files.value_info(last, [1, 4])], [])


def hostile_model():
    return onnx_files.model([onnx_files.node("MatMul", [HOSTILE, "w" + HOSTILE], ["h" + HOSTILE], "n" + HOSTILE), onnx_files.node("Relu", ["h" + HOSTILE], ["y" + HOSTILE], "r")],
                            [onnx_files.value_info(HOSTILE, [1, 2])], [onnx_files.value_info("y" + HOSTILE, [1, 2])],
                            [onnx_files.tensor("w" + HOSTILE, [2, 2], [1, -1, 0.5, 2])])


def luminance(colour):
    parts = [int(colour[k:k + 2], 16) / 255 for k in (1, 3, 5)]
    return sum(weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4) for weight, part in zip((0.2126, 0.7152, 0.0722), parts))


def contrast(a, b):
    dark, light = sorted(map(luminance, (a, b)))
    return (light + 0.05) / (dark + 0.05)


class Made(Case):
    """One page of each kind, made once."""

    @classmethod
    def setUpClass(cls):
        folder = runs.tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made = runs.pathlib.Path(folder.name)
        holds, made = str(DIGITS / "digits_holds.vnnlib"), cls.made
        cls.files = {"hostile.onnx": hostile_model(), "long.onnx": long_chain(5000), "log.csv": b"step,loss,rate\n0,2.5,0.1\n1,1.25,0.1\n2,0.5,0.05\n",
                     "checkpoint.safetensors": safetensors({"model/w" + HOSTILE: ([2, 2], [1, 2, 3, 4]), "optimiser/first/0": ([4], [0, 0, 0, 0.5])},
                                                           {"format": "assay checkpoint 1", "note " + HOSTILE: HOSTILE})}
        for name, content in cls.files.items():
            (made / name).write_bytes(content)
        cls.make("verify", MODEL, holds, "--proof", made / "holds.assay")
        cls.make("record", MODEL, made / "run.trace", "--seed", "3")
        cls.make("record", made / "hostile.onnx", made / "hostile.trace")
        (made / "bent.trace").write_bytes(bent((made / "run.trace").read_bytes(), "t17"))
        cls.make("robust", MODEL, DATA, "--eps", "0.02,0.1", "--clip", "0,1", "--first", 30, "--run", made / "run", "-q")
        cls.make("inspect", MODEL, "--property", holds, "--data", DATA, "--items", 50, "-o", made / "model.html")
        cls.make("inspect", made / "hostile.onnx", "--box", -1, 1, "-o", made / "hostile.html")
        cls.make("inspect", made / "hostile.trace", "-o", made / "hostile_trace.html")
        cls.make("inspect", made / "checkpoint.safetensors", "-o", made / "checkpoint.html")
        cls.make("inspect", made / "log.csv", "-o", made / "log.html")
        cls.make("inspect", made / "run.trace", "-o", made / "trace.html")
        cls.make("inspect", made / "holds.assay", "-o", made / "certificate.html")
        cls.make("inspect", made / "long.onnx", "-o", made / "long.html")
        cls.make("report", made / "run", "-o", made / "report_run.html")
        cls.make("report", made / "run.trace", "-o", made / "report_trace.html")
        cls.make("report", made / "bent.trace", "-o", made / "report_bent.html")
        cls.make("report", made / "holds.assay", MODEL, holds, "-o", made / "report_certificate.html")
        cls.pages = sorted(made.glob("*.html"))

    @classmethod
    def make(cls, *words):
        done = assay(*words)
        if done.returncode != 0:
            raise AssertionError((words, done.returncode, (done.stdout + done.stderr)[:300]))

    def has(self, part, text):
        self.assertTrue(part in text, f"{part} is not there")  # without the whole page

    def reader(self, page):
        return Reader(page.read_text())


class Pages(Made):
    def test_structure(self):
        self.assertEqual(len(self.pages), 12)
        for page in self.pages:
            with self.subTest(page=page.name):
                reader = self.reader(page)
                self.assertEqual((reader.open, reader.wrong), ([], []))
                self.assertEqual(len(set(reader.ids)), len(reader.ids))
                self.assertLessEqual(set(reader.links), set(reader.ids))
                self.assertEqual((reader.headings[0], reader.headings.count(1)), (1, 1))
                self.assertTrue(all(b - a <= 1 for a, b in zip(reader.headings, reader.headings[1:])))
                self.assertEqual([reader.tags.get(tag, 0) for tag in ("main", "nav", "header")], [1, 1, 1])
                self.assertTrue(all(attrs.get("scope") in ("col", "row") for tag, attrs in reader.attributes if tag == "th"))
                self.assertTrue(all(attrs.get("alt") for tag, attrs in reader.attributes if tag == "img"))
                self.assertTrue(all(attrs.get("aria-label") for tag, attrs in reader.attributes if tag == "svg"))
                self.assertTrue(all(attrs.get("lang") == "en" for tag, attrs in reader.attributes if tag == "html"))
                text = page.read_text().replace("http-equiv", "")
                self.assertFalse("http:" in text or "https:" in text, "a page that needs the network")
                data = json.loads(reader.data)
                self.assertRegex(data["schema"], r"^assay\.(inspect|report)/1$")
                for name, table in data["tables"].items():
                    self.assertTrue(all(len(row) == len(table["columns"]) for row in table["rows"]), name)
                for drawing in data["drawings"]:
                    rows = [row for members in drawing["members"] for row in members]
                    self.assertEqual(len(rows), len(set(rows)))
                    self.assertTrue(all(0 <= row < len(data["tables"][drawing["table"]]["rows"]) for row in rows))
                drawn = sum(1 for tag, attrs in reader.attributes if tag == "g" and attrs.get("class", "").startswith("node"))
                self.assertEqual(drawn, sum(len(drawing["members"]) for drawing in data["drawings"]))

    def test_names_cannot_write_into_the_page(self):
        for name in ("hostile", "hostile_trace", "checkpoint"):
            reader = self.reader(self.made / (name + ".html"))
            self.assertEqual((reader.tags.get("b", 0), reader.tags["script"]), (0, 2), name)
            self.assertFalse([attrs for _, attrs in reader.attributes if any(key.startswith("on") for key in attrs)])
            self.assertIn("</script>", json.dumps(json.loads(reader.data)))  # the name itself is there
        odd = self.folder / HOSTILE.replace("/", "")
        odd.write_bytes(self.files["hostile.onnx"])
        self.make("inspect", odd, "-o", self.folder / "page.html")
        self.assertEqual(self.reader(self.folder / "page.html").tags.get("b", 0), 0)

    def test_colours_can_be_told(self):
        text = (self.made / "model.html").read_text()
        themes = [dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{([^}]*)\}", text)]
        self.assertEqual(len(themes), 2)
        for theme in themes:
            for ink in ("ink", "quiet", "yes", "no"):
                for paper in ("paper", "soft"):
                    self.assertGreaterEqual(contrast(theme[ink], theme[paper]), 4.5, (ink, paper, theme))
            mixed = "#" + "".join("%02x" % round((int(theme["yes"][k:k + 2], 16) + int(theme["paper"][k:k + 2], 16)) / 2) for k in (1, 3, 5))
            self.assertGreaterEqual(contrast(theme["ink"], mixed), 4.5, "words on the darkest heat")

    def test_large_graphs_are_drawn_in_blocks(self):
        data = json.loads(self.reader(self.made / "long.html").data)
        members = data["drawings"][0]["members"]
        self.assertLessEqual(len(members), 160)
        self.assertEqual(sorted(row for block in members for row in block), list(range(5001)))
        self.assertEqual(len(data["tables"]["nodes"]["rows"]), 5001)

    def test_a_run(self):
        text, lines = (self.made / "report_run.html").read_text(), self.results(self.made / "run")
        self.has('class="verdict accepted"', text)
        table = json.loads(Reader(text).data)["tables"]["results"]
        self.assertEqual(sorted((row[0], row[1], row[5]) for row in table["rows"]), sorted((one["item"], one["eps"], one["answer"]) for one in lines))
        self.assertEqual({row[6] for row in table["rows"]}, {"yes"})
        run, page = self.folder / "run", self.folder / "page.html"
        shutil.copytree(self.made / "run", run)
        self.make("report", run, "-o", page, "--images", 3)
        images = [attrs for tag, attrs in Reader(page.read_text()).attributes if tag == "img"]
        self.assertEqual(len(images), 9)
        for one in images:
            self.assertEqual(browser.base64.b64decode(one["src"].removeprefix("data:image/png;base64,"))[:8], b"\x89PNG\r\n\x1a\n")
        digest = next(one["certificate"] for one in lines if "certificate" in one)
        (run / "certificates" / digest[:2] / (digest + ".assay")).unlink()
        self.make("report", run, "-o", page)
        self.has('class="verdict declined"', page.read_text())
        self.has("<strong>missing</strong>", page.read_text())
        lines[0]["reason"] = lines[1]["eps"] = HOSTILE
        (run / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
        self.make("report", run, "-o", page)
        reader = self.reader(page)
        self.assertEqual((reader.open, reader.wrong, reader.tags.get("b", 0)), ([], [], 0))

    def test_a_failing_trace(self):
        text = (self.made / "report_bent.html").read_text()
        self.has('class="verdict failed"', text)
        reader = Reader(text)
        self.assertEqual(len([1 for tag, attrs in reader.attributes if tag == "img" and attrs["src"].startswith("data:image/png;base64,")]), 1)
        table = json.loads(reader.data)["tables"]["region_list"]
        failed = [row[table["columns"].index("failed")] for row in table["rows"]]
        self.assertEqual(sorted(failed)[-2:], [0, 1])
        self.has('class="verdict passed"', (self.made / "report_trace.html").read_text())

    def test_a_certificate(self):
        holds = DIGITS / "digits_holds.vnnlib"
        text, page = (self.made / "report_certificate.html").read_text(), self.folder / "page.html"
        self.has('class="verdict accepted"', text)
        data = json.loads(Reader(text).data)
        for row in data["tables"]["nodes"]["rows"]:
            cells = dict(zip(data["tables"]["nodes"]["columns"], row))
            if cells["lo"] is not None:
                self.assertLessEqual(cells["lo"], cells["sampled lo"] + 1e-9)
                self.assertGreaterEqual(cells["hi"], cells["sampled hi"] - 1e-9)
                self.assertTrue(cells["tightness"] is None or 0 < cells["tightness"] <= 1 + 1e-9)
        for more, verdict in (([], "not checked"), (["--model", MODEL, "--property", DIGITS / "digits_fails.vnnlib"], "rejected")):
            done = assay("report", self.made / "holds.assay", "-o", page, "--json", *more)
            self.assertEqual((done.returncode, json.loads(done.stdout)["verdict"]), (0, verdict))
            self.has(verdict + "</span>", page.read_text())
        self.assertIn("`assay report MODEL PROPERTY %s` checks it" % (self.made / "holds.assay"), assay("report", self.made / "holds.assay", "-o", page).stderr)
        for wrong, words in (([MODEL, holds], "name one INPUT, or the files of one check"), ([MODEL], "`assay report MODEL PROPERTY CERTIFICATE` shows a check")):
            done = assay("report", *wrong, "-o", page)
            self.assertIn(words, done.stderr)
        self.make("statement", MODEL, holds, "--out", self.folder / "claim")
        done = assay("report", self.made / "holds.assay", "--property", self.folder / "claim", "-o", page, "--json")
        self.assertEqual(json.loads(done.stdout)["verdict"], "accepted")

    def test_a_tree_is_that_of_the_records(self):
        run, properties = self.folder / "run", self.folder / "properties"
        self.make("robust", MODEL, DATA, "--eps", "0.08,0.1", "--clip", "0,1", "--first", 40, "--each", "--run", run, "-q")
        properties.mkdir()
        self.make("check", run, "--properties", properties)
        largest = max((one for one in self.results(run) if one["answer"] == "certified"), key=lambda one: one["bytes"])["certificate"]
        certificate = run / "certificates" / largest[:2] / (largest + ".assay")
        dump = assay("inspect", certificate).stdout.splitlines()
        splits = [line for line in dump if re.match(r" *(\(\d+\) )?split\w* node ", line)]
        self.assertGreater(len(splits), 4)
        page = self.folder / "page.html"
        done = assay("report", certificate, "--model", MODEL, "--property", properties / (largest + ".vnnlib"), "-o", page, "--json")
        summary = json.loads(done.stdout)
        self.assertEqual((summary["verdict"], summary["splits"], summary["leaves"]), ("accepted", len(splits), len(splits) + 1))
        tables = json.loads(Reader(page.read_text()).data)["tables"]
        self.assertEqual([f"node {row[3]}[{row[4]}]" for row in tables["splits"]["rows"]], [re.search(r"node \d+\[\d+\]", line)[0] for line in splits])
        self.assertEqual(max(row[1] for row in tables["splits"]["rows"]), int(re.search(r"depth (\d+)", dump[-1])[1]))
        self.assertEqual(sum(row[1] for row in tables["depths"]["rows"]), len(splits) + 1)
        self.assertEqual(page.read_text().count('<rect class="yes"') - 6, len(splits))  # each split, and the tightness of six nodes

    def test_perfetto(self):
        for what, tracks in ((self.made / "run", {"job 1", "job 2"}), (self.made / "run.trace", {"regions judged", "gradients judged"})):
            self.make("report", what, "-o", self.folder / "page.html", "--perfetto", self.folder / "events.json")
            events = json.loads((self.folder / "events.json").read_text())["traceEvents"]
            self.assertEqual({one["args"]["name"] for one in events if one["ph"] == "M" and one["name"] == "thread_name"}, tracks)
            ends = {}
            for one in (one for one in events if one["ph"] == "X"):
                self.assertGreaterEqual(one["ts"] + 1e-6, ends.get(one["tid"], 0))
                ends[one["tid"]] = one["ts"] + one["dur"]
            if what.name == "run":
                searched = [one["seconds"] for one in self.results(what) if "seconds" in one]
                self.assertAlmostEqual(sum(one["dur"] for one in events if one["ph"] == "X") / 1e6, sum(searched), places=6)

    def test_model_explorer(self):
        for words, count in ((("inspect", MODEL), 6), (("inspect", self.made / "run.trace"), None), (("report", self.made / "run.trace", "-o", self.folder / "p"), None),
                             (("inspect", self.made / "long.onnx"), 5001)):
            file = self.folder / "graph.json"
            self.make(*words, "--model-explorer", file)
            collection = json.loads(file.read_text())
            self.assertEqual(sorted(collection), ["graphs", "label"])
            graph = collection["graphs"][0]
            ids = [node["id"] for node in graph["nodes"]]
            self.assertEqual(len(set(ids)), len(ids))
            self.assertEqual(len(ids), count or len(ids))
            for place, node in enumerate(graph["nodes"]):
                self.assertTrue(all(isinstance(one["value"], str) for one in node["attrs"]))
                self.assertTrue(all(ids.index(edge["sourceNodeId"]) < place for edge in node["incomingEdges"][:3]))
            self.assertTrue(any(node["incomingEdges"] for node in graph["nodes"]))
        done = assay("inspect", self.made / "log.csv", "--model-explorer", self.folder / "none")
        self.assertEqual((done.returncode, (self.folder / "none").exists()), (4, False))
        try:
            from model_explorer import graph_builder
        except ImportError:
            return
        fields = graph_builder.GraphNode.__dataclass_fields__
        self.assertTrue(all(set(node) <= set(fields) for node in graph["nodes"]))


class InABrowser(Made):
    """The same pages, opened."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    LISTS = "[...document.querySelectorAll('.list')].map(one => [one.dataset.table, one.querySelector('.count').textContent, one.querySelectorAll('.inner .row').length])"

    def test_every_page(self):
        """Without a complaint; every list has its rows, light, dark and printed."""
        for page in self.pages:
            with self.subTest(page=page.name):
                self.browser.media()
                self.browser.open(page)
                tables = json.loads(Reader(page.read_text()).data)["tables"]
                for name, count, drawn in self.browser.run(self.LISTS):
                    rows = len(tables[name]["rows"])
                    self.assertEqual(count, f"{rows} of {rows}")
                    self.assertTrue(min(rows, 14) <= drawn <= rows)
                self.assertEqual(self.browser.run("document.querySelectorAll('h1').length"), 1)
                self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)
                papers = []
                for dark in (False, True):
                    self.browser.media(dark=dark)
                    papers.append(self.browser.run("getComputedStyle(document.body).backgroundColor"))
                    self.assertGreater(self.browser.colours(), 20)
                self.assertEqual(len(set(papers)), 2)
                self.browser.media("print")
                shown = "[...document.querySelectorAll('%s')].every(one => (getComputedStyle(one).display !== 'none') === %s)"
                self.assertTrue(self.browser.run(shown % (".list > .first", "true")) and self.browser.run(shown % (".list > .rows, .tools, nav", "false")))
        self.assertEqual(self.browser.complaints, [])

    def test_a_drawing(self):
        """A node shows its rows; a column colours the nodes; the keyboard goes from node to node."""
        self.browser.media()
        self.browser.open(self.made / "model.html")
        heat = "[...document.querySelectorAll('g.node rect.heat')].map(one => Number(one.style.fillOpacity))"
        self.assertEqual((min(self.browser.run(heat)), max(self.browser.run(heat))), (0.06, 0.5))
        self.browser.run("(() => { const one = document.querySelector('select'); one.value = 'nothing'; one.dispatchEvent(new Event('change')); })()")
        self.assertEqual(set(self.browser.run(heat)), {0})
        self.browser.run("document.querySelectorAll('g.node')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        shown = "[...document.querySelectorAll('.list .inner .row')].map(one => one.children[1].textContent)"
        self.assertEqual(self.browser.run(shown), ["gemm"])
        self.browser.run("document.querySelectorAll('g.node')[1].focus()")
        for key in ("ArrowDown", "Enter"):
            self.browser.run(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true, cancelable: true}}))")
        self.assertEqual(self.browser.run(shown), ["relu"])
        self.browser.run("document.querySelector('button.every').click()")
        self.assertEqual(len(self.browser.run(shown)), 12)
        self.assertEqual(self.browser.complaints, [])

    def test_ten_thousand_results(self):
        """360 items at 28 radii: they open, sort, filter and scroll."""
        run, page = self.folder / "run", self.folder / "page.html"
        radii = ",".join(str(k / 1000) for k in range(1, 29))
        self.make("robust", MODEL, DATA, "--eps", radii, "--clip", "0,1", "--run", run, "-q", "--jobs", 2)
        self.make("report", run, "-o", page, "--images", 3)
        self.browser.media()
        self.assertLess(self.browser.open(page), 20)
        self.assertEqual(self.browser.run("document.querySelector('.list .count').textContent"), "10080 of 10080")
        self.assertLess(self.browser.run("document.querySelectorAll('*').length"), 3000)
        begin = "document.querySelector('.list .inner .row').getAttribute('aria-rowindex')"
        self.browser.run("new Promise(done => { const box = document.querySelector('.list .rows'); box.scrollTop = 28 * 9000; setTimeout(done, 300); })")
        self.assertAlmostEqual(int(self.browser.run(begin)), 9000, delta=20)
        sort = "[...document.querySelectorAll('.list .head button')].find(one => one.textContent === 'seconds').click()"
        self.browser.run(sort)
        self.browser.run(sort)
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.list .head span')].map(one => one.getAttribute('aria-sort')).filter(one => one !== 'none')"), ["descending"])
        seconds = [float(text) for text in self.browser.run("[...document.querySelectorAll('.list .inner .row')].map(one => one.children[7].textContent)")]
        self.assertEqual(seconds, sorted(seconds, reverse=True))
        self.browser.run("(() => { const one = document.querySelector('.list input'); one.value = 'falsified'; one.dispatchEvent(new Event('input')); })()")
        falsified = sum(one["answer"] == "falsified" for one in self.results(run))
        self.assertEqual(self.browser.run("document.querySelector('.list .count').textContent"), f"{falsified} of 10080")
        self.assertEqual(self.browser.complaints, [])

    def test_printed(self):
        self.browser.media()
        self.browser.open(self.made / "report_certificate.html")
        pdf = browser.base64.b64decode(self.browser.ask("Page.printToPDF")["data"])
        self.assertEqual(pdf[:5], b"%PDF-")
        self.assertTrue(2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12)


if __name__ == "__main__":
    if "InABrowser" in sys.argv and browser.program() is None:
        print("skipped: there is no Chromium")
        sys.exit()
    runs.main()
