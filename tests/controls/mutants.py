"""What the controls that compile mutants share."""
import shlex
import subprocess


def flags_of(entry):
    """Of an entry of compile_commands.json: the compiler and its flags, without the files, the warnings and the compiler's cache."""
    kept, skip, drop = [], 0, {"-o": 1, "-c": 1, "-MF": 1, "-MT": 1, "-MD": 0}
    for word in shlex.split(entry["command"]):
        if skip:
            skip -= 1
        elif word in drop:
            skip = drop[word]
        elif not word.startswith("-W") and not word.endswith("ccache"):
            kept.append(word)
    return kept


def changed_since(root, commit, folders):
    """The files of these folders that differ from the commit."""
    done = subprocess.run(["git", "-C", str(root), "diff", "--name-only", commit, "--", *folders], check=True, capture_output=True, text=True)
    return {root / name for name in done.stdout.split()}


def passes(binary, tests):
    """A test binary, on the tests of that pattern."""
    try:
        return subprocess.run([str(binary), tests, "--abort"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600).returncode == 0
    except subprocess.TimeoutExpired:
        return False
