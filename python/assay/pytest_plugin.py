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
from typing import TYPE_CHECKING, Any, Generator, Iterator, Mapping, Sequence

import pytest

if TYPE_CHECKING:
    from assay._core.audits import Check
    from assay._core.gate_reports import Case, Report

_WORKER = "assay"  # what a worker of pytest-xdist hands to its controller


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
    config.pluginmanager.register(Session(config), "assay-session")


@pytest.fixture
def assay_gate(request: pytest.FixtureRequest) -> Gate:
    """Collects the checks of a test; the test fails at its end with all that they found."""
    gate = Gate(request.node)
    request.node.stash[_GATE] = gate
    return gate


class Gate:
    """The checks of `assay.testing`, which do not raise: what they find fails the test when it is over."""

    def __init__(self, item: pytest.Item | None = None) -> None:
        self.item = item
        self.reports: list[Report] = []
        self._allowed: list[bool] = []  # whether a vacuous report is fine
        self._places: list[tuple[str, int]] = []  # the line of the test that made each check

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
        self._places.append(_place(self.item))
        if hasattr(report, "as_cases"):  # of assay.torch: the program has decided
            passed, report = report.passed, report.as_cases()
            report.most_undecided = 1.0 if passed else report.most_undecided
        self.reports.append(report)
        self._allowed.append(allow_vacuous)
        return report

    def conclude(self) -> None:
        """Raises if a report is no pass."""
        __tracebackhide__ = True
        from assay._core.gate_reports import merged
        from assay.testing import ContractViolation, NotDecided
        from assay.testing._contracts import explanation

        found = [(report, place) for report, allow, place in zip(self.reports, self._allowed, self._places)
                 if not report.passed and not (allow and report.verdict == "vacuous")]
        wrong = [report for report, _ in found]
        if wrong:
            kind = ContractViolation if any(report.verdict == "failed" for report in wrong) else NotDecided
            text = "\n".join(f"{os.path.relpath(file or '.')}:{line}: " + (getattr(report, "faults", None) and report.text or explanation(report))
                             for report, (file, line) in found)
            _raise_at(found[0][1], kind(f"{len(wrong)} of {len(self.reports)} checks did not pass\n{text}", merged(wrong, "assay")))


def _raise_at(place: tuple[str, int], why: Exception) -> None:
    """Raises with a line of a test as the last one of the traceback, so that pytest shows it."""
    __tracebackhide__ = True
    file, line = place
    exec(compile("raise why", file, "exec").replace(co_firstlineno=line, co_name="test"), {"why": why})


_GATE = pytest.StashKey[Gate]()


@dataclasses.dataclass
class _Entry:
    """The checks that one test made at once, with their report."""

    test: str
    report: Report
    is_compared: bool = False  # with a baseline: of assay.testing
    is_expected: bool = False  # it did not pass, and the test caught its exception and passed


class Session:
    """Everything that was checked, and the files that say so."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.entries = config, list[_Entry]()
        self.troubles: list[str] = []
        self.notes: list[str] = []
        self.written: list[str] = []  # baselines
        self.before = 0  # entries of the tests, and of the tries of this test, that came earlier
        self.current: pytest.Item | None = None
        self.deselected = 0
        self.waivers = _waivers_of(self.option("waivers"), self.option("today") or "")

    def option(self, name: str) -> Any:
        """An option of this plugin."""
        return self.config.getoption(f"assay_{name}")

    # While a test runs.

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Listens to the checks of the test."""
        from assay._core import audits

        self.current = item
        audits.listeners.append(self.listen)
        try:
            return (yield)
        finally:
            audits.listeners.remove(self.listen)
            self.current = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test begins, perhaps not for the first time."""
        self.before = len(self.entries)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
        """The gate and the baseline of a test that ended well."""
        __tracebackhide__ = True
        from assay.errors import Error, Rejected

        try:
            result = yield
        except Error as why:
            if not isinstance(why, Rejected):  # those were announced with their findings
                self.note(pyfuncitem, why)
            raise
        if gate := pyfuncitem.stash.get(_GATE, None):
            gate.conclude()
        for marker in pyfuncitem.iter_markers("assay_baseline"):
            self._compare(pyfuncitem, *marker.args, **marker.kwargs)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Checks whose exceptions a test caught are what it expects, once it has passed; those of an earlier try of the test are not."""
        outcome = yield
        if call.when == "call" and (outcome.passed or hasattr(outcome, "wasxfail")):
            for entry in self.entries[self.before:]:
                entry.is_expected = entry.report.is_raised and not entry.report.passed
        return outcome

    def listen(self, checks: Sequence[Check], report: Report) -> None:
        """Called after each check, before it raises. Whether the waivers are right is said at the end of the session."""
        item = self.current
        file, line = _place(item)
        for case in report.cases:
            case.owner = item.nodeid if item else ""
            if not case.file:
                case.file, case.line = file, line
        if self.waivers:
            from assay.testing import _waivers

            _waivers.apply(report, self.waivers)
        self.entries.append(_Entry(item.nodeid if item else "", report, bool(checks)))

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

    def _compare(self, item: pytest.Function, file: str) -> None:
        """The marker's comparison."""
        __tracebackhide__ = True
        from assay._core.gate_reports import merged
        from assay.testing import ContractViolation, _baselines

        reports = [entry.report for entry in self.entries if entry.is_compared and entry.test == item.nodeid]
        path = os.path.join(item.path.parent, file)
        if not reports:
            raise pytest.UsageError(f"{item.nodeid}: the test is marked with assay_baseline, but checked nothing")
        if self.option("write_baseline"):
            _baselines.write(path, reports)
            self.written.append(path)
            return
        if not os.path.exists(path):
            raise pytest.UsageError(f"{item.nodeid}: the baseline {path} does not exist; write it with --assay-write-baseline")
        more, missing = _baselines.compare(path, reports)
        self.notes += [f"{one} ({item.nodeid})" for one in missing]
        if more:
            raise ContractViolation("\n".join([f"the test uses more of its allowance than {file} admits:", *more]), merged(reports, "assay"))

    # At the end.

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes what a worker of pytest-xdist checked."""
        entries, written = pickle.loads(getattr(node, "workeroutput", {}).get(_WORKER, pickle.dumps(([], []))))
        self.entries, self.written = self.entries + entries, self.written + written

    def pytest_deselected(self, items: Sequence[Any]) -> None:
        """Counts the tests that -k, -m or --last-failed leave out."""
        self.deselected += len(items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the files and concludes the gate of the session."""
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[_WORKER] = pickle.dumps((self.entries, self.written))
            return
        if self.option("waivers") or self.option("baseline"):
            ended = session.shouldstop or session.shouldfail or session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
            self._conclude(bool(self.deselected or ended or _is_of_some_tests(self.config)))
        if self.option("write_baseline") and not self.written:
            self.troubles.append("--assay-write-baseline wrote nothing: name the file with --assay-baseline=FILE, or mark tests with assay_baseline(FILE)")
        self._write()
        if self.troubles and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

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
        if self.option("baseline") and self.option("write_baseline"):
            _baselines.write(self.option("baseline"), compared)
            self.written.append(self.option("baseline"))
        elif self.option("baseline"):
            try:
                more, missing = _baselines.compare(self.option("baseline"), compared)
            except MalformedInput as why:
                more, missing = [f"--assay-baseline: {why}"], []
            self.troubles, self.notes = self.troubles + more, self.notes + missing

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
            if path:
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)

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


def _place(item: pytest.Item | None) -> tuple[str, int]:
    """The line of the test's file that is running."""
    if item is None:
        return "", 1
    path, frame = str(item.path), sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == path:
            return path, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return path, (item.location[1] or 0) + 1
