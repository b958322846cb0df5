"""Lint: words that must not occur, whatever the layer's tests say. Comments and string literals are not looked at.

The first rule guards a measured unsoundness: Boost.Interval over MPFR with any policy but our own returns enclosures that
miss the exact value, so the only instantiation lives in semantics/numbers/wide_interval.cpp.
"""
import re

import house

# The test that keeps the default policy's wrong answers on record.
KEPT_COUNTEREXAMPLE = "tests/semantics/numbers/wide_interval_test.cpp"
ANYWHERE = house.LAYERS + ["tests", "benchmarks", "examples"]
# rule, folders, pattern, files that may, why, a line that must be caught
RULES = [
    ("interval policy", ANYWHERE, r"\bnumeric\s*::\s*interval(?:_lib)?\b", ["semantics/numbers/wide_interval.cpp", KEPT_COUNTEREXAMPLE],
     "Boost.Interval only with our own policy, in that one file", "boost::numeric::interval<mpfr_float> x;"),
    ("interval namespace", ANYWHERE, r"\b(?:using\s+namespace|namespace\s+\w+\s*=)\s+(?:::)?boost\s*::\s*numeric\b",
     ["semantics/numbers/wide_interval.cpp", KEPT_COUNTEREXAMPLE], "no alias may hide Boost.Interval", "namespace bn = boost::numeric;"),
    ("rounding mode", house.TRUSTED, r"\b(?:fesetround|fesetenv|feholdexcept|_mm_setcsr|_MM_SET_\w+)\b", [],
     "the rounding mode is checked, never set", "std::fesetround(FE_UPWARD);"),
    ("exceptions", house.TRUSTED, r"\bthrow\b(?!\s+std::bad_alloc\(\))", ["semantics/interrupt.cpp"],
     "trusted code returns an Outcome; memory that cannot be had is std::bad_alloc, as operator new says it", "throw std::runtime_error(text);"),
    ("assert", house.TRUSTED, r"(?<!_)\bassert\s*\(", [], "use demand: it is always on", "assert(x < y);"),
    ("printing", house.TRUSTED, r"\b(?:std\s*::\s*(?:cout|cerr|clog)|f?printf|f?puts|fopen|perror)\b", ["semantics/demand.cpp"],
     "trusted code has no output of its own", 'printf("%d", x);'),
    ("process", house.TRUSTED, r"\bstd\s*::\s*(?:j?thread|async|mutex|atomic|exit|system|getenv)\b", [],
     "no threads, no environment", "std::thread t(run);"),
    ("optimiser", house.TRUSTED, r"#\s*pragma\s+(?!once\b)|__attribute__\s*\(\(.*optimize|\b_Pragma\b", ["kernel/rows/lanes.h"],  # a request to unroll
     "flags are chosen in one place, tools/cmake", '#pragma GCC optimize("fast-math")'),
    ("friend", house.LAYERS, r"#\s*define\s+(?:private|protected|class|friend)\b", [],
     "nobody opens the kernel's constructors", "#define private public"),
    ("namespaces of trusted folders", [layer for layer in ANYWHERE if layer not in house.TRUSTED], r"(?<!using )\bnamespace\s+(?:assay\s*::\s*)?(?:logic|relax|rows|exact|floats|gradients|contracts|quick|audit|statement)\b(?!\s*=)", [],
     "what stands in them is trusted", "namespace assay::logic {"),
    ("long double", house.TRUSTED, r"\blong\s+double\b", [], "its format depends on the machine", "long double x = 0;"),
]

LITERAL = re.compile(r'R"([^\s()\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)


def hits(pattern, text):
    """-> [(line number, text found)]"""
    return [(text.count("\n", 0, m.start()) + 1, m[0]) for m in re.finditer(pattern, text)]


def plain(strip, text):
    """Without comments and without the contents of string literals; line numbers stay."""
    return LITERAL.sub(lambda m: '""' + "\n" * m[0].count("\n"), strip(text))


if __name__ == "__main__":
    options = house.arguments()
    root = options.root.resolve()
    strip = house.load_count_lines(root).without_comments
    texts = {p: plain(strip, (root / p).read_text(encoding="utf-8")) for p in house.sources(root, ANYWHERE)}
    problems = []
    for rule, folders, pattern, allowed, why, control in RULES:
        if not hits(pattern, plain(strip, control)):
            problems.append(f"control of rule {rule!r} not caught: {control}")
        for path, text in texts.items():
            if path.parts[0] in folders and path.as_posix() not in allowed:
                problems += [f"{path}:{line}: {found!r} ({rule}: {why})" for line, found in hits(pattern, text)]
    if hits(RULES[0][2], plain(strip, 'const char* s = "boost::numeric::interval<"; // boost::numeric::interval<')):
        problems.append("comments and literals must not count")
    house.report("lint", problems, f"{len(texts)} files, {len(RULES)} rules")
