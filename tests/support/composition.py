"""Runs the cells of tests/data/composition.tsv, and prints what differs. Usage: composition.py TABLE PROGRAM DATA
Works in the present folder, which is empty."""
import ast
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

TABLE, PROGRAM, DATA = (os.path.abspath(name) for name in sys.argv[1:4])
GENERATE = os.path.join(os.path.dirname(__file__), "../../scripts/python/generate")
COMMANDS = "cpd", "predict", "top", "compare", "report"
# What each run has, unless the row or the circumstance says otherwise.
BASE = {"-r": "-r 2", "-i": "-i 2", "--backend": "--backend host", "-t": "-t 1", "-q": "-q", "-o": "-o m",
        "--format": "--format ktns", "--record": "--record m.json"}
OUT = {"--nowrite": ["-o", "--format"], "--rescue": [], "-v": ["-q"], "--progress": ["-q"], "--help": ["-q"]}
CIRCUMSTANCES = {"unknown": "--unlisted unknown", "weight": "--unlisted .1", "counts": "--loss poisson", "nonneg": "--nonneg",
                 "fixed": "--init s --fix 1", "model": "--init s", "range": "-r 2:3", "starts": "--starts 2",
                 "resume": "--resume c.bck", "single": "--precision single", "auto": "--precision auto",
                 "holdout": "--holdout .2"}
FOLDERS = {"nan": "nan", "names": "names"}  # of the tensor; else plain
OPERANDS = {"cpd": "x.tns", "predict": "M x.tns", "top": "M", "compare": "M s", "report": "m"}


def run(words, folder, ranks=1):
    launch = "timeout -k 5 60 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 2".split()
    return subprocess.run((launch if ranks > 1 else []) + [PROGRAM, *words], cwd=folder, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=120)


def words_of(command, circumstance, text):
    """The words of a run: the operands (of `text`, if it names some), what all runs have, the circumstance, `text`."""
    given = shlex.split(text)
    operands = []
    while given and not given[0].startswith("-"):
        operands.append(given.pop(0))
    model = "m.r2" if circumstance == "range" else "m"
    operands = [model if word == "M" else word for word in operands or OPERANDS[command].split()]
    if command != "cpd":
        return [command, *operands, *([] if OUT.keys() & set(given) else ["-q"]), *given]
    base = dict(BASE)
    more = shlex.split(CIRCUMSTANCES.get(circumstance, ""))
    for word in given + more:
        for gone in [word, *OUT.get(word, [])]:
            base.pop(gone, None)
    return [command, *operands, *" ".join(base.values()).split(), *given, *more]


def make_folders():
    lines = [line for line in open(f"{DATA}/ucb-admissions.tns") if line[0] != "#"]
    del lines[4], lines[10]
    for name in "plain", "names", "nan":
        os.mkdir(name)
        own = lines[:6] + [lines[6].rsplit(" ", 1)[0] + " nan\n"] + lines[7:] if name == "nan" else lines
        open(f"{name}/x.tns", "w").writelines(own)
        open(f"{name}/l", "w").write("uno\ndue\n")
        open(f"{name}/x.csv", "w").writelines(["a,g,d,v\n", *(line.replace(" ", ",") for line in reversed(own))])
        open(f"{name}/z.tns", "w").writelines(re.sub(r"\d+ ", lambda i: f"{int(i[0]) - 1} ", line) for line in own)
    for path in glob.glob(f"{DATA}/ucb-admissions.mode*.map"):
        shutil.copy(path, "names/x." + path.split(".", 1)[1])
    for name in "plain", "names", "nan":
        for text in ("x.tns -r 2 -i 1 -o s --format ktns --record s.json --nonneg --seed 5", "x.tns -r 2 -i 1 --nowrite --checkpoint c.bck"):
            made = run(["cpd", "-q", "--backend", "host", *text.split()], name)
            assert made.returncode == 0, made.stderr


def arguments_of_module():
    text = subprocess.run([sys.executable, GENERATE, PROGRAM], check=True, capture_output=True, text=True).stdout
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {a.arg.replace("_", "-") for a in functions[0].args.args + functions[0].args.kwonlyargs}


class Run:
    """A run in a folder of its own: what it printed, what it wrote."""

    def __init__(self, command, circumstance, text, source, folder):
        shutil.copytree(source, folder)
        before = set(os.listdir(folder))
        self.words = words_of(command, circumstance, text)
        self.ended = run(self.words, folder, 2 if circumstance == "ranks" else 1)
        self.folder = folder
        self.new = set(os.listdir(folder)) - before
        self.record = None
        for name in ("m.json", "m.r2.json") if command == "cpd" else ():
            if os.path.exists(f"{folder}/{name}"):
                self.record = json.load(open(f"{folder}/{name}"))
        self.models = {name: open(f"{folder}/{name}").read() for name in self.new if name.endswith(".ktns")}

    def failure(self):
        return [line for line in self.ended.stderr.splitlines() if line.startswith("blco ")]

    def is_refused(self, part):
        lines = self.ended.stderr.splitlines()
        single = len(self.failure()) == 1 and ("mpirun" in self.ended.stderr or len(lines) == 1)
        return self.ended.returncode == 2 and single and part in self.failure()[0] and not self.ended.stdout and not self.new


def at(record, path):
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def holds(check, one, without):
    """Whether a check of the column `shows` holds for a run; `without` is the run without the option."""
    kind, _, text = check.partition(" ")
    if kind == "numbers":
        return bool(one.models) and one.models != without().models
    if kind == "output":
        return one.ended.stdout != without().ended.stdout
    if kind == "exit":
        return one.ended.returncode == int(text)
    if kind == "needed":
        return without().ended.returncode != 0
    if kind == "same":
        return one.models == without().models and (bool(one.models) or one.ended.stdout == without().ended.stdout != "")
    if kind == "silent":
        return not one.ended.stderr
    if kind == "has":
        return at(one.record, text) is not None and at(without().record, text) is None
    if kind == "file":  # or of a range of ranks
        return not {text, text.replace(".", ".r2.", 1)}.isdisjoint(one.new)
    if kind == "nofile":
        return not {text, text.replace(".", ".r2.", 1)}.isdisjoint(without().new) and all(name.endswith(".json") and "ranks" not in name for name in one.new)
    if kind == "says":
        return text in one.ended.stdout + one.ended.stderr and text not in without().ended.stdout + without().ended.stderr
    path, _, expected = check.partition("=")
    return at(one.record, path) == json.loads(expected)


class Table:
    def __init__(self):
        rows = [line.rstrip("\n").split("\t") for line in open(TABLE) if line.strip() and line[0] != "#"]
        self.columns = rows[0][5:]
        self.rows = rows[1:]
        self.runs = {}
        self.lock = threading.Lock()
        self.module = arguments_of_module()

    def missing(self):
        table = json.loads(run(["completion", "json"], ".").stdout)
        options = {(c["name"], "--" + o["name"]) for c in table["commands"] if c["name"] in COMMANDS for o in c["options"]}
        listed = [(row[0], row[1]) for row in self.rows]
        for command, option in sorted(options ^ set(listed)):
            yield f"{command} {option}: " + ("has no row" if (command, option) in options else "there is no such option")
        for row in self.rows:
            if len(row) != 5 + len(self.columns):
                yield f"{row[:2]}: {len(row)} columns, expected {5 + len(self.columns)}"
            if [other[:4] for other in self.rows].count(row[:4]) > 1:
                yield f"{row[0]} {row[1]} {row[3]}: has two rows"

    def source(self, command, circumstance):
        """The folder that a run begins with: of a command but cpd, one in which cpd has made the models."""
        if command == "cpd":
            return FOLDERS.get(circumstance, "plain")
        made = self.without("cpd", circumstance, "")
        assert made.ended.returncode == 0, f"blco cpd, {circumstance}: {made.ended.stderr}"
        return made.folder

    def without(self, command, circumstance, text):
        key = command, circumstance, text
        source = self.source(command, circumstance)
        with self.lock:
            if key not in self.runs:
                self.runs[key] = Run(*key, source, f"without{len(self.runs)}")
            return self.runs[key]

    def cell(self, number, circumstance):
        """None where the cell is right, else what was found."""
        command, option, before, text, shows = self.rows[number][:5]
        said = self.rows[number][5 + self.columns.index(circumstance)]
        if circumstance == "module" and command == "cpd":
            return None if (said == "acts") == (option[2:] in self.module) else f"{circumstance}: {option}, {said}"
        if said in ("-", "gpu"):
            return None
        one = Run(command, circumstance, f"{before} {text}", self.source(command, circumstance), f"cell{number}.{circumstance}")
        wrong = None
        if said.startswith("no: "):
            wrong = None if one.is_refused(said[4:]) else "not refused so"
        elif said != "acts":
            wrong = "no such word"
        else:
            checks = shows.split("; ")
            if not any(check.startswith("exit") for check in checks):
                checks.insert(0, "exit 0")
            wrong = next((check for check in checks if not holds(check, one, lambda: self.without(command, circumstance, before))),
                         None)
            if circumstance == "page" and not wrong:
                page = run(["report", "m", "-q", "-o", "-"], one.folder)
                given = next(word for word in shlex.split(text) if word[0] == "-")
                wrong = None if page.returncode == 0 and given in page.stdout else "the page lacks it"
        shutil.rmtree(one.folder)
        return wrong and (f"{shlex.join(one.words)} ({circumstance}): {said}: {wrong}; exit {one.ended.returncode}, "
                          f"{' '.join(one.failure())}")


def main():
    os.environ["OMP_NUM_THREADS"] = "1"
    make_folders()
    table = Table()
    wrong = list(table.missing())
    if not wrong:
        cells = [(number, column) for number in range(len(table.rows)) for column in table.columns]
        with ThreadPoolExecutor(2) as pool:
            wrong = [found for found in pool.map(lambda cell: table.cell(*cell), cells) if found]
        print(f"{len(cells)} cells")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
