"""The pytest plugin: reports of all checks of a session, waivers, baselines, and a fixture that collects the checks of one test.

    pytest --assay-junit=assay.xml --assay-sarif=assay.sarif --assay-waivers=waivers.json --assay-baseline=baseline.json

    def test_kernels(assay_gate):
        assay_gate.assert_within_contract("softmax", [x], y, attributes={"axis": -1})     # goes on after a failure
        assay_gate.audit_kernel("relu", my_relu)

    @pytest.mark.assay_baseline("softmax.json")                                         # head-room of this test's checks, by operation
    def test_softmax(): ...
"""
from __future__ import annotations

import collections
import dataclasses
import fnmatch
import os
import pathlib
import pickle
import sys
import unittest
from typing import TYPE_CHECKING, Any, Callable, Generator, Iterator, Mapping, Sequence

import pytest

if TYPE_CHECKING:
    from assay._core.audits import Check
    from assay._core.gate_reports import Case, Report

_WORKER = "assay"  # what a worker of pytest-xdist hands to its controller
_SESSION = "assay-session"
_SKIPS = (pytest.skip.Exception, unittest.SkipTest)
_GREEN = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
_ENDS_OF_THREADS = ("threading", "concurrent", "multiprocessing")  # packages that catch what leaves the function of a thread


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    group = parser.getgroup("assay", "contracts of kernels and results (assay.testing)")
    group.addoption("--assay-junit", metavar="FILE", help="write the checks of the session as JUnit XML")
    group.addoption("--assay-sarif", metavar="FILE", help="write the findings of the session as SARIF 2.1.0, for code scanning")
    group.addoption("--assay-waivers", metavar="FILE", help='accept findings for a while: a JSON file {"waivers": [{"id": ..., "rule": ..., "reason": ..., '
                    '"owner": ..., "expires": "YYYY-MM-DD"}]}, each perhaps with "op", "tensor", "most_elements", "test", "file", "dtype"')
    group.addoption("--assay-today", metavar="YYYY-MM-DD", help="the day by which waivers expire, in place of that of the clock")
    group.addoption("--assay-baseline", metavar="FILE", help="fail if an operation uses over 25 %% more of its allowance than this file says")
    group.addoption("--assay-write-baseline", action="store_true", help="write the file that --assay-baseline=FILE names, and those of the markers, instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker and the session."""
    config.addinivalue_line("markers", "assay_baseline(file): the head-room of the test's checks stays within 25 % of what the file says")
    if config.pluginmanager.is_blocked(_SESSION):
        raise pytest.UsageError(f"-p no:{_SESSION} would let tests pass whose checks fail; leave it out, or leave the whole plugin out with -p no:assay")
    for name in ("junit", "sarif", "waivers", "today", "baseline"):
        if config.getoption(f"assay_{name}") == "":
            raise pytest.UsageError(f"--assay-{name} has an empty value, so it would do nothing; give it a value, or leave the option out")
    if config.getoption("assay_today") and not config.getoption("assay_waivers"):
        raise pytest.UsageError("--assay-today says by which day waivers expire, but the session has no waivers; add --assay-waivers=FILE, or leave the option out")
    _refuse_shared_files(config)
    config.stash[_SESSION_KEY] = Session(config)
    config.pluginmanager.register(config.stash[_SESSION_KEY], _SESSION)


def _refuse_shared_files(config: pytest.Config) -> None:
    """Two options that write one file, or an option that writes a file of another option or of tests, would lose one of the two."""
    written = {"assay-junit": config.getoption("assay_junit"), "assay-sarif": config.getoption("assay_sarif"), "junitxml": config.getoption("xmlpath", None)}
    taken = {str(pathlib.Path(str(one).split("::")[0]).resolve()): "the tests" for one in config.args}
    for name in ("assay-waivers", "assay-baseline"):
        if path := config.getoption(name.replace("-", "_")):
            taken[str(pathlib.Path(path).resolve())] = f"--{name}"
    for name, path in written.items():
        if path and (before := taken.setdefault(str(pathlib.Path(path).resolve()), f"--{name}")) != f"--{name}":
            raise pytest.UsageError(f"--{name} would write {path}, which is the file of {before}; name another file")


@pytest.fixture
def assay_gate(request: pytest.FixtureRequest) -> Gate:
    """Collects the checks of a test; the test fails at its end with all that they found."""
    gate = Gate(request.node)
    request.node.stash[_GATE] = gate
    request.config.stash[_SESSION_KEY].gates.append(gate)
    return gate


class Gate:
    """The checks of `assay.testing`, which do not raise: what they find fails the test when it is over."""

    def __init__(self, item: pytest.Item | None = None) -> None:
        self.item = item
        self.reports: list[Report] = []
        self._allowed: list[bool] = []  # whether a vacuous report is fine
        self._places: list[tuple[str, int]] = []  # the line of the test that made each check
        self._told = 0  # of the reports those by which the test has failed already, or could have

    def assert_within_contract(self, reference: Any, inputs: Any, output: Any, *, attributes: Mapping[str, Any] | None = None, model: str | None = None,
                               allow_vacuous: bool = False, name: str | None = None) -> Report:
        """As the function of that name, without raising; gives the report."""
        from assay.testing import within_contract

        report = within_contract(reference, inputs, output, attributes=attributes, model=model, name=name)
        return self.check(report, allow_vacuous=allow_vacuous)

    def audit_kernel(self, op: str, kernel: Any, **options: Any) -> Report:
        """As the function of that name, without raising; gives the report."""
        from assay.testing import audit_kernel

        return self.check(audit_kernel(op, kernel, **{**options, "raises": False}))

    def gradcheck(self, func: Any, inputs: Any, **options: Any) -> bool:
        """As `assay.gradcheck`, without raising: what it finds fails the test when it is over."""
        from assay import GradcheckError, gradcheck

        try:
            return gradcheck(func, inputs, **{**options, "raise_exception": True})
        except GradcheckError as why:
            self.check(why.report)  # type: ignore[arg-type]
            return False

    def check(self, report: Report, *, allow_vacuous: bool = False) -> Report:
        """Any other report, those of assay.torch included."""
        from assay._core import arguments

        arguments.flag("allow_vacuous", allow_vacuous)
        self._places.append(_place(self.item))
        if hasattr(report, "as_cases"):  # of assay.torch: the program has decided
            passed, report = report.passed, report.as_cases()
            report.most_undecided = 1.0 if passed else report.most_undecided
        self.reports.append(report)
        self._allowed.append(allow_vacuous)
        return report

    def conclude(self) -> None:
        """Raises if a report is no pass of those that came since the last call."""
        __tracebackhide__ = True
        from assay._core.gate_reports import merged
        from assay.testing import ContractViolation, NotDecided
        from assay.testing._contracts import explanation

        found, count = self._wrong(), len(self.reports) - self._told
        self._settle()
        if found:
            wrong = [report for report, _ in found]
            kind = ContractViolation if any(report.verdict == "failed" for report in wrong) else NotDecided
            text = "\n".join(f"{os.path.relpath(file or '.')}:{line}: " + (getattr(report, "faults", None) and report.text or explanation(report))
                             for report, (file, line) in found)
            _raise_at(found[0][1], kind(f"{len(wrong)} of {count} checks did not pass\n{text}", merged(wrong, "assay")))

    def _settle(self) -> None:
        """The test has ended by what was found so far."""
        self._told = len(self.reports)

    @property
    def _is_open(self) -> bool:
        """Whether a report is no pass, and no test has ended by it."""
        return bool(self._wrong())

    @property
    def _has_failed(self) -> bool:
        """Whether any report is no pass."""
        return any(not report.passed for report in self.reports)

    def _wrong(self) -> list[tuple[Report, tuple[str, int]]]:
        every = list(zip(self.reports, self._allowed, self._places))[self._told:]
        return [(report, place) for report, allow, place in every if not report.passed and not (allow and report.verdict == "vacuous")]


def _raise_at(place: tuple[str, int], why: Exception) -> None:
    """Raises with a line of a test as the last one of the traceback, so that pytest shows it."""
    __tracebackhide__ = True
    file, line = place
    exec(compile("raise why", file, "exec").replace(co_firstlineno=line, co_name="test"), {"why": why})


_GATE = pytest.StashKey[Gate]()
_SESSION_KEY = pytest.StashKey["Session"]()


@dataclasses.dataclass
class _Entry:
    """The checks that one test made at once, with their report."""

    test: str
    report: Report
    is_compared: bool = False  # with a baseline: of assay.testing
    is_expected: bool = False  # it did not pass, and the test caught its exception and passed
    is_told: bool = False  # it did not pass, and a test failed

    @property
    def is_open(self) -> bool:
        """An exception was raised, and nobody has seen it yet."""
        return self.report.is_raised and not self.is_expected and not self.is_told

    @property
    def is_lost(self) -> bool:
        """The exception did not reach the test: it ended a thread, or the last function that it left was called by no Python (a task, `__del__`)."""
        trace = getattr(self.report.exception, "__traceback__", None)
        if trace is None:
            return False
        package = str(trace.tb_frame.f_globals.get("__name__")).split(".")[0]
        return package in _ENDS_OF_THREADS or trace.tb_frame.f_lasti == trace.tb_lasti

    @property
    def headline(self) -> str:
        """Why it did not pass, in one line."""
        first = next(iter([*self.report.failures, *(one for one in self.report.findings if not one.waiver)]), None)
        return f"{first.rule}: {first.headline}" if first else self.report.summary()


class Session:
    """Everything that was checked, and the files that say so."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.entries = config, list[_Entry]()
        self.troubles: list[str] = []
        self.notes: list[str] = []
        self.marked: list[tuple[str, str]] = []  # baselines of tests to write, each with its test
        self.written: list[str] = []  # baselines
        self.gates: list[Gate] = []
        self.before = self.called = 0  # entries that came before this try of the test, and before its call
        self.is_called = False  # the test's function has ended
        self.failed: dict[str, int] = {}  # of tests that failed by a check: how many checks their functions made
        self.current: pytest.Item | pytest.Collector | None = None
        self.deselected = 0
        self.waivers = _waivers_of(self.option("waivers"), self.option("today") or "")

    def option(self, name: str) -> Any:
        """An option of this plugin."""
        return self.config.getoption(f"assay_{name}")

    # While a test runs.

    def pytest_sessionstart(self) -> None:
        """Listens to all checks, those beside tests included."""
        from assay._core import audits

        audits.listeners.append(self.listen)
        audits.reviewers.append(self.review)

    def pytest_unconfigure(self) -> None:
        """Listens no more."""
        from assay._core import audits

        for known, own in ((audits.listeners, self.listen), (audits.reviewers, self.review)):
            if own in known:
                known.remove(own)  # type: ignore[arg-type]

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """A file that is skipped after a check that did not pass has failed."""
        self.current, before = collector, len(self.entries)
        try:
            outcome = yield
        finally:
            self.current = None
        found = [entry for entry in self.entries[before:] if entry.is_open]
        if found and outcome.skipped:
            outcome.outcome, outcome.longrepr = "failed", _skipped_words(found, "file")
        for entry in found:
            entry.is_told, entry.is_expected, entry.report.exception = outcome.failed, outcome.passed, None
        return outcome

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Knows which test runs."""
        self.current = item
        try:
            return (yield)
        finally:
            self.current = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test begins, perhaps not for the first time."""
        self.before = self.called = len(self.entries)
        self.is_called = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """The function of the test begins and ends. Parts of it (subtests) have reports of their own before that."""
        self.called = len(self.entries)
        try:
            return (yield)
        finally:
            self.is_called = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Fails a test whose checks say so, however it ended itself. A test of unittest has its exceptions in a list of its own."""
        own = (getattr(item, "_excinfo", None) or [call.excinfo])[0]
        is_left = own is not None and isinstance(own.value, (*_SKIPS, pytest.xfail.Exception)) and not _expects_failure(item)
        found = self._verdict(item, call.when, own.value if own is not None and is_left else None, own is None or is_left)
        if found is not None and (own is None or is_left):
            call.excinfo = found
            if getattr(item, "_excinfo", None):
                item._excinfo = [found]  # type: ignore[attr-defined]
        outcome = yield
        if found is not None and not outcome.failed and not (hasattr(outcome, "wasxfail") and _is_marked_for(item, found.value)):
            outcome.outcome, outcome.longrepr = "failed", str(found.value)
            outcome.__dict__.pop("wasxfail", None)
        self._settle(item, call, outcome)
        return outcome

    def _verdict(self, item: pytest.Item, when: str, left: BaseException | None, is_whole: bool) -> pytest.ExceptionInfo[BaseException] | None:
        """Why a test has to fail that did not fail by itself; `left`: the exception by which it was skipped, or expects to fail."""
        made = [entry for entry in self.entries[self.before:] if entry.is_open]
        lost, gate = [entry for entry in made if entry.is_lost], item.stash.get(_GATE, None)
        if gate is not None and gate._is_open and (when != "setup" or left is not None):
            return _raised_by(gate.conclude)
        if lost:
            return _raised_by(lambda: _fail(item, f"a check in a thread, a task or a finalizer did not pass, and its exception did not reach the test: {lost[0].headline}. "
                                            "Wait for it in the test, and raise the exception there: future.result() of concurrent.futures does both"))
        if made and isinstance(left, _SKIPS):
            return _raised_by(lambda: _fail(item, _skipped_words(made, "test")))
        if when != "call" or not self.is_called or not is_whole:
            return None
        count, before = len(self.entries) - self.called, self.failed.get(item.nodeid, 0)
        if count < before:
            return _raised_by(lambda: _fail(item, f"the test failed by a check, ran once more, and made fewer checks then ({count} in place of {before}), so "
                                            "the failure stands. Make every check in each run of the test"))
        return _raised_by(lambda: self._compare_marked(item, left is not None))

    def _settle(self, item: pytest.Item, call: pytest.CallInfo[None], outcome: Any) -> None:
        """Checks whose exceptions a test caught are what it expects, once it has passed; those of an earlier try of the test are not."""
        from assay.errors import Error, Rejected

        found, gate = [entry for entry in self.entries[self.before:] if entry.is_open], item.stash.get(_GATE, None)
        if outcome.failed and call.when == "call" and self.is_called and (found or gate is not None and gate._has_failed):
            self.failed[item.nodeid] = max(self.failed.get(item.nodeid, 0), len(self.entries) - self.called)
        is_over = outcome.failed or hasattr(outcome, "wasxfail")
        for entry in found if is_over or call.when != "setup" else []:
            entry.is_told, entry.is_expected, entry.report.exception = outcome.failed, not outcome.failed, None  # it holds the frames of the test
        if gate is not None and is_over:
            gate._settle()
        if hasattr(outcome, "wasxfail") and not outcome.failed:  # what the test expects by its mark, those of a gate included
            for entry in self.entries[self.before:]:
                entry.is_expected = entry.is_expected or not entry.report.passed
        why = call.excinfo.value if call.excinfo is not None else None
        if isinstance(why, Error) and not isinstance(why, Rejected) and outcome.failed and call.when == "call":  # rejections were announced with their findings
            self.note(item, why)

    def listen(self, checks: Sequence[Check], report: Report) -> None:
        """Called after each check, before it raises. Whether the waivers are right is said at the end of the session."""
        self.review(report)
        self.entries.append(_Entry(self.current.nodeid if self.current else "", report, bool(checks)))

    def review(self, report: Report) -> None:
        """Names the test of the cases, and waives findings. A report may come several times, with more cases."""
        item = self.current
        file, line = _place(item)
        for case in report.cases:
            case.owner = item.nodeid if item else ""
            if not case.file:
                case.file, case.line = file, line
        if self.waivers:
            from assay.testing import _waivers

            _waivers.apply(report, self.waivers)

    def note(self, item: pytest.Item, why: Any) -> None:
        """A check that was refused, so that it came to no verdict: it belongs into the files, too."""
        from assay._core.gate_reports import Case, Finding, Report

        path, line = str(item.path), (item.location[1] or 0) + 1
        trace = why.__traceback__
        while trace is not None:
            line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == path else line
            trace = trace.tb_next
        kind = type(why).__name__
        finding = Finding("error", why.code or f"assay.{kind}", item.name, str(why))
        self.entries.append(_Entry(item.nodeid, Report([Case(kind, "not judged", findings=[finding], file=path, line=line)])))

    def _compare_marked(self, item: pytest.Item, is_left: bool) -> None:
        """The comparisons that the markers of a test ask for; a test that was skipped may have checked nothing."""
        __tracebackhide__ = True
        for marker in item.iter_markers("assay_baseline"):
            if len(marker.args) != 1 or marker.kwargs or not isinstance(marker.args[0], str) or not marker.args[0]:
                raise pytest.UsageError(f"{item.nodeid}: the mark assay_baseline takes the name of one file: assay_baseline(\"softmax.json\")")
            self._compare(item, marker.args[0], is_left)

    def _compare(self, item: pytest.Item, file: str, is_left: bool) -> None:
        """The marker's comparison."""
        __tracebackhide__ = True
        from assay._core.gate_reports import merged
        from assay.testing import ContractViolation, _baselines

        reports = [entry.report for entry in self.entries[self.before:] if entry.is_compared and entry.test == item.nodeid]
        path = os.path.join(item.path.parent, file)
        if not _baselines.used(reports):
            if is_left:
                return
            raise pytest.UsageError(f"{item.nodeid}: the test is marked with assay_baseline, but checked nothing that passes")
        if self.option("write_baseline"):
            self.marked.append((path, item.nodeid))
            return
        if not os.path.exists(path):
            raise pytest.UsageError(f"{item.nodeid}: the baseline {path} does not exist; write it with --assay-write-baseline")
        if more := _baselines.compare(path, reports, is_part=True):
            _raise_at(_place(item), ContractViolation("\n".join([f"the test uses more of its allowance than {file} admits:", *more]), merged(reports, "assay")))

    # At the end.

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes what a worker of pytest-xdist checked."""
        if found := getattr(node, "workeroutput", {}).get(_WORKER):
            entries, marked, troubles, deselected = pickle.loads(found)
            self.entries, self.marked = self.entries + entries, self.marked + marked
            self.troubles, self.deselected = self.troubles + troubles, self.deselected + deselected

    def pytest_deselected(self, items: Sequence[Any]) -> None:
        """Counts the tests that -k, -m or --last-failed leave out."""
        self.deselected += len(items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the files and concludes the gate of the session."""
        if session.exitstatus in _GREEN:
            self._conclude_rest()
        for entry in self.entries:
            entry.report.exception = None
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[_WORKER] = pickle.dumps((self.entries, self.marked, self.troubles, self.deselected))
            return
        self._write_marked()
        if self.option("waivers") or self.option("baseline"):
            ended = session.shouldstop or session.shouldfail or session.exitstatus not in (*_GREEN, pytest.ExitCode.TESTS_FAILED)
            self._conclude(bool(self.deselected or ended or _is_of_some_tests(self.config)))
        if self.option("write_baseline") and not self.written:
            self.troubles.append("--assay-write-baseline wrote nothing: name the file with --assay-baseline=FILE, or mark tests with assay_baseline(FILE)")
        self._write()
        if self.troubles and session.exitstatus in _GREEN:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _conclude_rest(self) -> None:
        """Checks that did not pass, and of which no test has told: pytest.exit ended their test, or they were made after it."""
        for entry in self.entries:
            if entry.is_open:
                self.troubles.append(f"a check of {entry.test or 'no test'} did not pass, and no test failed by it: {entry.headline}")
                entry.is_told = True
        for gate in self.gates:
            if gate._is_open:
                test = gate.item.nodeid if gate.item else "no test"
                self.troubles.append(f"a check by assay_gate of {test} did not pass, and no test failed by it: {gate.reports[-1].summary()}")

    def _write_marked(self) -> None:
        """The baselines of the markers: several tests may name one file."""
        from assay.errors import MalformedInput
        from assay.testing import _baselines

        tests: dict[str, set[str]] = {}
        for path, test in self.marked:
            tests.setdefault(path, set()).add(test)
        for path, names in tests.items():
            try:
                _baselines.write(path, [entry.report for entry in self.entries if entry.is_compared and entry.test in names])
                self.written.append(path)
            except MalformedInput as why:
                self.troubles.append(f"--assay-write-baseline: {why}")

    def _conclude(self, is_subset: bool) -> None:
        """Waivers that have expired or cover nothing, and operations that use more than the baseline says. A part of the tests says of no waiver that
        it covers nothing."""
        from assay.errors import MalformedInput
        from assay.testing import _baselines, _waivers

        compared = [entry.report for entry in self.entries if entry.is_compared]
        if not self.entries or (self.option("baseline") and not compared):
            given = " and ".join(f"--assay-{name}" for name in ("waivers", "baseline") if self.option(name))
            self.troubles.append(f"{given}: nothing was checked in this session, so there is nothing to compare")
            return
        if self.option("waivers"):
            reports = [entry.report for entry in self.entries]
            self.troubles += _waivers.troubles(self.waivers, reports, is_subset)
            self.notes += _waivers.notes(self.waivers, reports, is_subset)
        if self.option("baseline"):
            try:
                if self.option("write_baseline"):
                    _baselines.write(self.option("baseline"), compared)
                    self.written.append(self.option("baseline"))
                    return
                self.troubles += _baselines.compare(self.option("baseline"), compared, is_subset)
            except MalformedInput as why:
                self.troubles.append(f"--assay-baseline: {why}")

    def _write(self) -> None:
        from assay._core.gate_reports import Case, Finding, Report, merged, undecided_whole

        kept = [entry for entry in self.entries if not entry.is_expected]
        for entry in kept:
            if whole := undecided_whole(entry.report, entry.test):
                entry.report.cases.append(whole)
        upkeep = [Case("waivers and baseline", "session", file=os.path.abspath(self.option("waivers") or self.option("baseline") or "."),
                       findings=[Finding("fail", "gate.upkeep", "session", trouble) for trouble in self.troubles])] if self.troubles else []
        checks = merged([Report([*self._checks(kept), *upkeep])], "assay")
        for entry in kept:
            for case in entry.report.cases:
                case.name, case.owner = f"{entry.test}: {case.name}", entry.test
        root, every = str(_repository_of(self.config.rootpath)), merged([*(entry.report for entry in kept), Report(upkeep)], "assay")
        for path, text in ((self.option("junit"), checks.junit(root, "")), (self.option("sarif"), every.sarif(root))):
            try:
                if path:
                    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
                    pathlib.Path(path).write_text(text, encoding="utf-8")
            except OSError as why:
                self.troubles.append(f"{path} cannot be written: {why.strerror}; check the path, its permissions and the free space")

    @staticmethod
    def _checks(entries: Sequence[_Entry]) -> Iterator[Case]:
        """One case for each check, named by its test; the checks of one test are numbered."""
        from assay._core.gate_reports import whole_check
        from assay.testing._contracts import explanation

        totals, numbers = collections.Counter(entry.test for entry in entries), collections.Counter[str]()
        for entry in entries:
            numbers[entry.test] += 1
            name = f", check {numbers[entry.test]}" if totals[entry.test] > 1 else ""
            text = getattr(entry.report, "faults", None) and entry.report.text or explanation(entry.report)
            yield whole_check(entry.report, entry.test, name, text)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line, the probes that kernels declined, and what is wrong with waivers and baseline."""
        from assay._core.gate_reports import counted

        if not self.entries and not self.troubles:
            return
        elements = sum(entry.report.count("passed") for entry in self.entries)
        used = max((entry.report.head_room_used for entry in self.entries), default=0.0)
        terminalreporter.section("assay")
        words = [(word, sum(getattr(entry.report, word) for entry in self.entries if not entry.is_expected)) for word in ("failed", "undecided")]
        words.append(("not passed as their tests expect", sum(entry.is_expected for entry in self.entries)))
        counts = "".join(f", {count} {word}" for word, count in words if count)
        terminalreporter.line(f"{counted(len(self.entries), 'check')}{counts}, {counted(elements, 'element')} within their contracts, at most {100 * used:.3g} % of the allowance")
        for entry in self.entries:
            report: Any = entry.report
            if refusals := getattr(report, "refusals", ""):
                terminalreporter.line(f"{report.title} ({entry.test}): of {counted(report.probes, 'probe')} {refusals}", yellow=True)
        for path in self.written:
            terminalreporter.line(f"wrote the baseline {path}")
        for line in [*self._waived(), *self.notes]:
            terminalreporter.line(line, yellow=True)
        for trouble in self.troubles:
            terminalreporter.line(trouble, red=True)

    def _waived(self) -> Iterator[str]:
        """The findings that pass for a while, each with the last day of its waiver: one line for each waiver, rule and test."""
        waivers, found = {one.id: one for one in self.waivers}, dict[tuple[str, str, str], list[str]]()
        for entry in self.entries:
            for finding in entry.report.findings:
                if finding.waiver:
                    found.setdefault((finding.waiver, finding.rule, entry.test), []).append(finding.headline)
        for (waiver, rule, test), lines in found.items():
            count = f"{len(lines)} findings, the first: " if len(lines) > 1 else ""
            yield f"{waivers[waiver].words}: {rule}: {count}{lines[0]} ({test})"


def _raised_by(conclude: Callable[[], None]) -> pytest.ExceptionInfo[BaseException] | None:
    """Return what a conclusion raises, as pytest shows it; None where it raises nothing."""
    __tracebackhide__ = True
    try:
        conclude()
    except Exception:  # a baseline that cannot be read, too
        return pytest.ExceptionInfo.from_current()
    return None


def _fail(item: pytest.Item, text: str) -> None:
    """Raises at the line of the test."""
    __tracebackhide__ = True
    _raise_at(_place(item), AssertionError(text))


def _skipped_words(found: Sequence[_Entry], what: str) -> str:
    return (f"the {what} was skipped after a check in it that did not pass: {found[0].headline}. A {what} that is skipped would hide this. Skip before the check, or, "
            "if the check is expected to fail, expect its exception with pytest.raises in a test that passes")


def _expects_failure(item: pytest.Item) -> bool:
    """Whether a test of unittest, or its class, is marked with expectedFailure."""
    return any(getattr(getattr(item, name, None), "__unittest_expecting_failure__", False) for name in ("obj", "cls"))


def _is_marked_for(item: pytest.Item, why: BaseException) -> bool:
    """Whether the mark by which a test may fail covers an exception, too."""
    raises = [mark.kwargs.get("raises") for mark in item.iter_markers("xfail")]
    kinds = [one for one in raises if isinstance(one, (type, tuple))]
    return _expects_failure(item) or None in raises or any(isinstance(why, one) for one in kinds)


def _repository_of(folder: pathlib.Path) -> pathlib.Path:
    """The folder from which files are named: the root of the repository, wherever pytest was started in it; else pytest's own root."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def _is_of_some_tests(config: pytest.Config) -> bool:
    """Whether a session is of less than all tests: it selects some by an option, or a file of tests lies outside of what was named."""
    option, given = config.option, [str(one) for one in config.invocation_params.args]
    selects = any(getattr(option, name, None) for name in ("keyword", "markexpr", "lf", "stepwise")) or any(one.startswith(("--ignore", "--deselect")) for one in given)
    if selects or any("::" in str(one) for one in config.args):
        return True
    paths = [(config.invocation_params.dir / str(one)).resolve() for one in config.args]
    return any(not any(path in (one, *one.parents) for path in paths) for one in _files_of_tests(config))


def _files_of_tests(config: pytest.Config) -> Iterator[pathlib.Path]:
    """The files of tests below the folders that pytest takes without being told; below its root, if none are set."""
    names, skipped, root = config.getini("python_files"), config.getini("norecursedirs"), config.rootpath
    for start in [one for path in config.getini("testpaths") for one in root.glob(path)] or [root]:
        for folder, below, files in os.walk(start):
            below[:] = [one for one in below if not any(fnmatch.fnmatch(one, pattern) for pattern in skipped) and not os.path.exists(os.path.join(folder, one, "pyvenv.cfg"))]
            yield from ((pathlib.Path(folder) / one).resolve() for one in files if one.endswith(".py") and any(fnmatch.fnmatch(one, pattern) for pattern in names))


def _waivers_of(path: str | None, today: str) -> list[Any]:
    from assay.errors import MalformedInput
    from assay.testing import _waivers

    try:
        _waivers.day(today or "2000-01-01")
    except ValueError:
        raise pytest.UsageError(f"--assay-today is '{today}', but has to be a day as YYYY-MM-DD; write for example --assay-today=2027-01-31") from None
    try:
        return list(_waivers.read(path, today)) if path else []
    except MalformedInput as why:
        raise pytest.UsageError(f"--assay-waivers: {why}") from None


def _place(item: pytest.Item | pytest.Collector | None) -> tuple[str, int]:
    """The line of the test's file that is running."""
    if item is None:
        return "", 1
    path, frame = str(item.path), sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == path:
            return path, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return path, (getattr(item, "location", ("", 0))[1] or 0) + 1
