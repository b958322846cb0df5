"""The comparison of every value with the box of its node."""
import numpy as np


class Share:
    """What one kind of op used of its radii."""

    def __init__(self):
        self.values, self.largest, self.where = 0, 0.0, ""


class Tally:
    def __init__(self):
        self.values = self.outside = self.unmapped = self.unbounded = self.runs = self.boxes = 0
        self.left = set()  # (subject, node, why) that were not compared
        self.found = {}  # by subject and node: what was seen outside

    def compare(self, label, configuration, group, results, shares=None):
        """Counts the values of a run outside the boxes of the group; at a point box, also how much of each radius is used (into shares)."""
        self.runs += 1
        for name, values in results.items():
            values = np.asarray(values)
            node = group.by_name.get(name)
            if node is None or node.lo.size != values.size:
                self.unmapped += values.size
                self.left.add((label, name, "no box" if node is None else "another size"))
                continue
            y = values.reshape(-1).astype(np.float64)
            if not (np.isfinite(node.lo).all() and np.isfinite(node.hi).all()):
                self.unbounded += y.size
                self.left.add((label, name, f"{node.op} without finite bounds"))
                continue
            inside = (y >= node.lo) & (y <= node.hi)  # false of NaN
            self.values += y.size
            bad = int(y.size - np.count_nonzero(inside))
            if bad:
                self.outside += bad
                self.note(label, configuration, node, y, inside, bad)
            if shares is not None:
                self.take_share(shares, label, node, y)

    def note(self, label, configuration, node, y, inside, bad):
        radius, middle = np.maximum(node.hi / 2 - node.lo / 2, 5e-324), node.lo / 2 + node.hi / 2
        used = np.where(inside, 0, np.abs(y - middle) / radius)
        at = int(np.argmax(np.where(np.isnan(used), np.inf, used)))
        found = self.found.setdefault((label, node.name), {"values": 0, "used": 0.0, "text": "", "configurations": set()})
        found["values"] += bad
        found["configurations"].add(configuration)
        if not used[at] <= found["used"]:
            found["used"] = float(used[at])
            found["text"] = f"{node.op} {node.name}[{at}]: {float(y[at]).hex()} not in [{float(node.lo[at]).hex()}, {float(node.hi[at]).hex()}]"

    def take_share(self, shares, label, node, y):
        radius = node.hi / 2 - node.lo / 2
        some = (radius > 0) & np.isfinite(radius)
        if not some.any():
            return
        used = np.abs(y[some] - (node.lo[some] / 2 + node.hi[some] / 2)) / radius[some]
        share = shares.setdefault(node.op, Share())
        share.values += int(some.sum())
        if used.max() > share.largest:
            share.largest, share.where = float(used.max()), f"{label} {node.name}"
