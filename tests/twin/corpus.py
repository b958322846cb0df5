#!/usr/bin/env python3
"""corpus.py BIN [--networks N] [--first SEED] [--bends N] [--keep DIR] [--verbose]

Makes small networks with properties, lets `assay verify --proof` answer, bends the certificates, and compares what tools/twin and `assay-check` say.
Exit 1 if they disagree, or if the run decided too little to mean something."""
import argparse
import collections
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "twin"), str(Path(__file__).resolve().parent)]

from certificate import crc32c, read_certificate  # noqa: E402
from check import check, read_statement  # noqa: E402
from wire import Refusal  # noqa: E402
from lowering import Model  # noqa: E402
from networks import draw, in_version_2, property_text  # noqa: E402
from ops import Ops  # noqa: E402
from replay import Replay  # noqa: E402
from sharp import Sharp  # noqa: E402
from fractions import Fraction  # noqa: E402


def run(*command, limit=60):
    done = subprocess.run([str(c) for c in command], capture_output=True, timeout=limit)
    return done.stdout.decode("utf-8", "replace").split("\n"), done.stderr.decode("utf-8", "replace").split("\n")[:1]


def samples(model, rng, bounds, count=12):
    """The outputs, rounded up, at points of the box that properties write with six decimals."""
    ops, found = Ops(model.nodes), []
    for _ in range(count):
        point = [Fraction(f"{rng.choice((lo, hi, rng.uniform(lo, hi))):.6f}") for lo, hi in bounds]
        boxes, place = {}, 0
        for node in range(len(model.nodes)):
            if node in model.inputs:
                boxes[node] = [(v, v) for v in point[place:place + model.nodes[node].size]]
                place += model.nodes[node].size
            else:
                boxes[node] = ops.image(node, boxes.__getitem__)
        found.append([hi for output in model.outputs for _, hi in boxes[output]])
    return found


def with_checksums(header, payloads):
    out = header + struct.pack("<I", crc32c(header))
    for kind, payload in payloads:
        frame = bytes([kind]) + varint(len(payload)) + payload
        out += frame + struct.pack("<I", crc32c(frame))
    return out


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def taken_apart(data):
    length = 39 + data[38]
    header, place, payloads = data[:length], length + 4, []
    while place < len(data):
        kind, size, shift = data[place], 0, 0
        place += 1
        while True:
            size |= (data[place] & 127) << shift
            shift, place = shift + 7, place + 1
            if data[place - 1] < 128:
                break
        payloads.append((kind, data[place:place + size]))
        place += size + 4
    return header, payloads


def records_of(data, model, property_):
    """The bytes of each record of the first frame, as far as they replay."""
    frame, replay, places = read_certificate(data)[2][0], Replay(model, property_), [0]
    try:
        for name, fields in frame.records(replay):
            getattr(replay, "step_" + name)(*fields())
            places.append(frame.place)
    except Refusal:
        places.append(len(frame.data))
    return [frame.data[a:b] for a, b in zip(places, places[1:])]


def bends(data, records, rng, count, other):
    """Bent certificates, by name."""
    header, payloads = taken_apart(data)
    body = payloads[0][1]
    for _ in range(count):
        bent, at, to = list(records), rng.randrange(len(records)), rng.randrange(len(records))
        kind = rng.choice(("drop a record", "swap records", "double a record"))
        if kind == "drop a record":
            del bent[at]
        elif kind == "swap records":
            bent[at], bent[to] = bent[to], bent[at]
        else:
            bent.insert(to, bent[at])
        yield kind, with_checksums(header, [(1, b"".join(bent))] + payloads[1:])
    yield "damaged byte", data[:-9] + bytes([data[-9] ^ 1 << rng.randrange(8)]) + data[-8:]
    yield "cut off", data[:rng.randrange(len(data))]
    yield "one byte more", data + b"\0"
    if other:
        yield "another statement's proof", with_checksums(header, taken_apart(other)[1])
        yield "another statement", other
    for _ in range(count):
        bent = bytearray(body)
        kind = rng.choice(("flip a bit", "flip a bit", "other byte", "drop a byte", "double a byte", "swap", "small step"))
        at = rng.randrange(len(bent))
        if kind == "flip a bit":
            bent[at] ^= 1 << rng.randrange(8)
        elif kind == "other byte":
            bent[at] = rng.randrange(256)
        elif kind == "drop a byte":
            del bent[at]
        elif kind == "double a byte":
            bent.insert(at, bent[at])
        elif kind == "small step":
            bent[at] = bent[at] + rng.choice((-1, 1)) & 255
        else:
            to = rng.randrange(len(bent))
            bent[at], bent[to] = bent[to], bent[at]
        if bent != body:
            yield kind, with_checksums(header, [(1, bytes(bent))] + payloads[1:])


WEAKER = ("plain, below", "split, below", "by cases, below", "cut, below", "cut, needed", "claims", "claims, above")


class Corpus:
    def __init__(self, arguments):
        self.bin, self.options = Path(arguments.bin), arguments
        self.counts, self.declined, self.disagreements = collections.Counter(), collections.Counter(), []
        self.folder = Path(arguments.keep or tempfile.mkdtemp(prefix="twin"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.other = None

    def compare(self, seed, family, what, paths):
        lines, errors = run(self.bin / "assay-check", *paths)
        word, mine, notes = check(*map(str, paths))
        theirs = lines[0].split(" ")[0]
        if word == "declined" and theirs == "accepted":
            kind = "declined by the twin"
            self.declined[family, notes[0]] += 1
        elif (word == "accepted") == (theirs == "accepted"):
            kind = "both " + ("accept" if word == "accepted" else "refuse")
        elif word == "accepted" and theirs == "rejected" and (what in WEAKER or what.startswith("cut, ") and "conclude.S3" in errors[0]):
            kind = "proved by the twin alone"    # the kernel's lines and enclosures may be wider than the best
            self.declined[family, f"({what}) " + " ".join(errors)] += 1
        elif theirs == "declined" and what.startswith("bent "):
            kind = "read by the twin alone"      # the front ends are stricter: no statement, so no theorem that could be wrong
            self.declined[family, f"(by assay-check: {what}) " + " ".join(errors)] += 1
        else:
            kind = "disagree"
            kept = [self.folder / f"disagree_{len(self.disagreements)}{Path(path).suffix}" for path in paths]
            for path, copy in zip(paths, kept):
                copy.write_bytes(Path(path).read_bytes())
            self.disagreements.append(f"seed {seed} {family}, {what}: assay-check {theirs}, twin {notes[0] if word != 'accepted' else word}; "
                                      f"{lines[1:2]} {' '.join(map(str, kept))}")
            print(self.disagreements[-1], flush=True)
        self.counts[kind, "bent" if what else "as written"] += 1
        if self.options.verbose:
            print(seed, family, what or "as written", kind, notes[0], flush=True)

    def network(self, seed):
        family, model_bytes, rng = draw(seed)
        paths = [self.folder / f"{seed}.{end}" for end in ("onnx", "vnnlib", "assay")]
        paths[0].write_bytes(model_bytes)
        model = Model(str(paths[0]))
        centre = [rng.uniform(-1, 1) for _ in range(sum(model.nodes[i].size for i in model.inputs))]
        radius = rng.choice((0.1, 0.3, 0.6))
        bounds = [(c - radius, c + radius) if rng.random() < 0.9 else (c, c) for c in centre]
        reached = samples(model, rng, bounds)
        self.sharp(seed, family, paths, random.Random(seed), bounds, min(values[0] for values in reached))
        outputs = [list(map(float, values)) for values in reached]
        text = property_text(rng, outputs, bounds, (len(centre), len(outputs[0])))
        version_2 = in_version_2(text, model.input_types, model.output_types)
        paths[1].write_text(version_2 if rng.random() < 0.3 else text)
        statement = read_statement(str(paths[0]), str(paths[1]))[2]
        written = subprocess.run([self.bin / "assay", "statement", *paths[:2]], capture_output=True, timeout=60).stdout
        self.counts["statement", "equal" if written == statement.file else "another"] += 1
        if written != statement.file:
            self.disagreements.append(f"seed {seed} {family}: another statement, {len(written)} bytes for {len(statement.file)} {paths[0]}")
            print(self.disagreements[-1], flush=True)
        more = rng.choice(([], ["--branching", "relu"], ["--branching", "input"])) + rng.choice(([], ["--no-attack"]))
        paths[2].unlink(missing_ok=True)
        lines, _ = run(self.bin / "assay", "verify", *paths[:2], "--proof", paths[2], "--timeout", "5", "--threads", "1", "-q", *more)
        self.counts["answer", lines[0].split(" ")[0]] += 1
        if not paths[2].exists():
            return
        data = paths[2].read_bytes()
        if len(data) > self.options.longest:
            self.counts["answer", "too long"] += 1
            return
        self.compare(seed, family, "", paths)
        bent_path = self.folder / f"{seed}_bent.assay"
        draws = random.Random(seed)
        records = records_of(data, *read_statement(*map(str, paths[:2]))[:2])
        for what, bent in bends(data, records, draws, self.options.bends, self.other):
            bent_path.write_bytes(bent)
            self.compare(seed, family, what, [paths[0], paths[1], bent_path])
        self.other = data
        for end, path in (("model", paths[0]), ("property", paths[1])):
            for _ in range(self.options.bends // 2):
                bent = bytearray(path.read_bytes())
                at = draws.randrange(len(bent))
                bent[at] = draws.choice(b"0123456789.-()<>=XY_ ") if end == "property" else bent[at] ^ 1 << draws.randrange(8)
                other = self.folder / f"{seed}_bent{path.suffix}"
                other.write_bytes(bent)
                self.compare(seed, family, f"bent {end}", [other if p == path else p for p in paths])


    def sharp(self, seed, family, paths, rng, bounds, reached):
        """Certificates made here: just below what the rules give, just above, with cuts that are needed, bent too, and with claims. No bound may be
        above a value that the network takes."""
        paths = [paths[0]] + [self.folder / f"{seed}_sharp{p.suffix}" for p in paths[1:]]
        try:
            made = Sharp(str(paths[0]), str(paths[1]), bounds, rng)
            proofs = [(name, *getattr(made, name)()) for name in ("plain", "split")]
            claims = list(made.claims())
            cut, gained, without, plain = made.cuts()
            proofs.append(("cut", cut, gained))
            proofs.append(("by cases", *made.by_cases()))
        except Refusal as refusal:
            self.counts["no bound", refusal.code] += 1
            return
        for name, records, bound in proofs:
            if bound > reached:
                self.disagreements.append(f"seed {seed} {family}, {name}: the twin's bound {float(bound)} is above the value {float(reached)}")
                print(self.disagreements[-1], flush=True)
            eps = (1 + abs(bound)) / 10 ** 6
            for what, threshold in ((f"{name}, below", bound - eps), (f"{name}, above", bound + eps)):
                made.write_property(f"(<= Y_0 {threshold.numerator * 10 ** 12 // threshold.denominator / 10 ** 12:.12f})")
                self.judge(seed, family, what, paths, records)
        needed = gained - plain > (1 + abs(gained)) / 10 ** 5
        self.counts["cut", "needed" if needed else "not needed"] += 1
        if needed:
            made.write_property(f"(<= Y_0 {float(gained + plain) / 2:.12f})")
            self.judge(seed, family, "cut, without", paths, without)
            self.judge(seed, family, "cut, needed", paths, cut)
            records = records_of(paths[2].read_bytes(), *read_statement(*map(str, paths[:2]))[:2])
            for what, bent in bends(paths[2].read_bytes(), records, rng, self.options.bends // 2, None):
                paths[2].write_bytes(bent)
                self.compare(seed, family, f"cut, {what}", paths)
        made.write_property("(<= Y_0 -1000000000)")
        for what, records in zip(("claims", "claims, above"), claims):
            self.judge(seed, family, what, paths, records)

    def judge(self, seed, family, what, paths, records):
        digest = read_statement(str(paths[0]), str(paths[1]))[2].digest
        paths[2].write_bytes(with_checksums(b"ASSAY\x01" + digest + b"\x0freal arithmetic", [(1, records), (2, b"\x01")]))
        self.compare(seed, family, what, paths)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--networks", type=int, default=205)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--bends", type=int, default=6)
    parser.add_argument("--longest", type=int, default=20000, help="bytes of a certificate")
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    corpus = Corpus(parser.parse_args())
    start = time.time()
    for seed in range(corpus.options.first, corpus.options.first + corpus.options.networks):
        corpus.network(seed)
    for key, count in sorted(corpus.counts.items()):
        print(f"{count:6}  {' '.join(key)}")
    for (family, note), count in corpus.declined.most_common():
        print(f"{count:6}  {family}: {note[:150]}")
    accepted = corpus.counts["both accept", "as written"]
    refused = corpus.counts["both refuse", "bent"]
    print(f"{len(corpus.disagreements)} disagreements, {time.time() - start:.0f} s")
    enough = accepted * 2 >= corpus.options.networks and refused > accepted
    return 0 if enough and not corpus.disagreements else 1


if __name__ == "__main__":
    sys.exit(main())
