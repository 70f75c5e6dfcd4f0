"""The command line, through real processes on real files."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("skops", reason="the command line needs skops")

import laconism  # noqa: E402
from laconism.cli.console import Terminal, UserError  # noqa: E402
from laconism.cli.tables import read_table  # noqa: E402

# Runs commands in one process, a line of them at a time, since importing costs more than most of them.
DRIVER = """
import contextlib, io, json, sys
from laconism.cli import main

def run(argv):
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    sys.argv = ["laconism", *argv]
    code = 0
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    for stream in streams:
        stream.flush()
    return [code, *(stream.buffer.getvalue().decode() for stream in streams)]

for line in sys.stdin:
    print(json.dumps([run(argv) for argv in json.loads(line)]), flush=True)
"""


def environment(**more):
    source = Path(laconism.__file__).parents[1]
    kept = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **more}
    kept["PYTHONPATH"] = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    return kept


class Driver:
    """The process that runs one command after the other in one folder."""

    def __init__(self, folder):
        self.errors = (folder.parent / "driver.txt").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            encoding="utf-8",
            cwd=folder,
            env=environment(),
        )

    def run(self, commands):
        self.process.stdin.write(json.dumps(commands) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        self.errors.seek(0)
        assert answer, self.errors.read()  # it is gone: what it said last
        return json.loads(answer)

    def close(self):
        self.process.communicate()
        self.errors.close()


DRIVERS = {}


@pytest.fixture(scope="module", autouse=True)
def no_driver_survives():
    yield
    while DRIVERS:
        DRIVERS.popitem()[1].close()


def laconism_many(folder, *commands):
    """Run commands in one process; return (code, stdout, stderr) of each."""
    if folder not in DRIVERS:
        DRIVERS[folder] = Driver(folder)
    return DRIVERS[folder].run([[str(word) for word in command] for command in commands])


def laconism_once(folder, *words, **options):
    """Run one command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "laconism", *map(str, words)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=environment(),
        **options,
    )


def people(n, seed=0):
    """A table with everything in it: names with commas and umlauts, holes, dates, a constant."""
    rng = np.random.default_rng(seed)
    height, town = rng.normal(size=n).round(4), rng.choice(["Bath", 'Ros, "as"', "Köln"], n)
    smoker = (rng.random(n) < 0.4).astype(object)
    latent = 2 * height + 2.0 * (town == "Köln") + 0.3 * rng.normal(size=n)
    smoker[:3] = None
    table = pd.DataFrame(
        {
            "Größe": height,
            "town": town,
            "smoker": smoker,
            "name": [f"Person, {k}" for k in range(n)],
            "born": "1980-01-02",
            "nothing": np.nan,
            "always": 7,
            "客": np.where(latent > 0.5, "jä, ja", "nein"),
        }
    )
    table.loc[3:6, "Größe"] = np.nan
    table.loc[1::2, "born"] = "1981-02-03"
    table.loc[7:8, "客"] = None
    return table


def table_of(text):
    return pd.read_csv(io.StringIO(text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


# ---- from a table to predictions and back ----------------------------------------------------


@pytest.fixture(scope="module")
def fitted(folder):
    """A model of the people, what fitting it said, and its predictions in the same process."""
    people(90).to_csv(folder / "people.csv", index=False)
    commands = (
        ["fit", "people.csv", "--target", "客", "--out", "people.skops", "--json"],
        ["predict", "people.skops", "people.csv", "--quiet"],
    )
    (code, out, err), predicted = laconism_many(folder, *commands)
    assert code == 0, err
    assert predicted[0] == 0, predicted[2]
    return json.loads(out), predicted[1]


@pytest.mark.slow
def test_fit_says_what_it_did(fitted):
    said, _ = fitted
    assert (said["task"], said["rows"], said["features"]) == ("classification", 88, 5)
    notes = " ".join(said["notes"])
    for part in (
        "2 rows without a value of the target 客",
        "left out name: text with",
        "left out born: dates",
        "left out nothing: all missing",
        "left out always: constant",
        "replaced by the median: Größe (4), smoker (3)",
    ):
        assert part in notes


@pytest.mark.slow
def test_round_trip_in_a_fresh_process_is_exact(folder, fitted):
    again = laconism_once(folder, "predict", "people.skops", "people.csv", "--out", "fresh.csv")
    assert again.returncode == 0, again.stderr
    text = (folder / "fresh.csv").read_text(encoding="utf-8")
    assert text == fitted[1]
    found = table_of(text)
    assert list(found.columns) == ["客", "P(客=jä, ja)", "P(客=nein)"]
    assert set(found["客"]) == {"jä, ja", "nein"}
    assert (found["客"] == people(90)["客"])[9:].mean() > 0.9
    np.testing.assert_allclose(found.iloc[:, 1:].sum(axis=1), 1.0, rtol=1e-12)
    # and with the library itself
    model = laconism.load(folder / "people.skops")
    raw = people(90).astype({"smoker": float})
    exact = pd.read_csv(io.StringIO(text), dtype=str).iloc[:, 1:].astype(float)  # with any pandas
    np.testing.assert_array_equal(model.predict_proba(raw), exact)


@pytest.mark.slow
def test_every_way_to_write_a_table_is_the_same(folder, fitted):
    table = people(90)
    plain = table.to_csv(index=False)
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode())
    (folder / "sixteen.csv").write_bytes(plain.encode("utf-16"))
    table.to_csv(folder / "semicolons.csv", sep=";", decimal=",")  # with an index, as it happens
    table.to_csv(folder / "points.csv", sep=";", index=False)
    table.to_csv(folder / "people.tsv", sep="\t", index=False)
    table.to_csv(folder / "pipes.txt", sep="|", index=False, quoting=csv.QUOTE_ALL)
    table.to_csv(folder / "people.csv.gz", index=False)
    table.to_csv(folder / "people.zip", index=False)
    table.to_parquet(folder / "people.parquet")
    table[table.columns[::-1]].to_csv(folder / "backwards.csv", index=False)
    names = (
        "bom.csv sixteen.csv semicolons.csv points.csv people.tsv pipes.txt people.csv.gz people.parquet"
    )
    names = [*names.split(), "people.zip", "backwards.csv"]
    windows = plain.replace("客", "y").encode("cp1252")
    (folder / "windows.csv").write_bytes(windows)
    commands = [["predict", "people.skops", name, "-q"] for name in names]
    *runs, last = laconism_many(folder, *commands, ["predict", "people.skops", "windows.csv"])
    for name, (code, out, err) in zip(names, runs, strict=True):
        assert (code, err) == (0, ""), f"{name}: {err}"
        assert out == fitted[1], name
    piped = laconism_once(folder, "predict", "people.skops", "-", "-q", input=plain)
    assert piped.stdout == fitted[1]
    assert last[1] == fitted[1]
    assert "windows.csv is not UTF-8; it was read as Windows-1252." in last[2]


def test_tables_with_more_around_them(folder, fitted):
    """Comments and blank lines above, blanks around texts or between fields, other packers."""
    table = people(90)
    plain = table.to_csv(index=False)
    (folder / "above.csv").write_text(f"# made, by hand\n#\n\n{plain}\n\n", encoding="utf-8")
    (folder / "thirty_two.csv").write_bytes(plain.encode("utf-32"))
    table.to_csv(folder / "people.csv.bz2", index=False)
    table.to_csv(folder / "people.csv.xz", index=False)
    table.assign(town=table["town"] + "  ").to_csv(folder / "blanks.csv", index=False)
    table.to_csv(folder / "spaces.txt", index=False, sep=" ", na_rep="NA", quoting=csv.QUOTE_ALL)
    names = [
        "above.csv",
        "thirty_two.csv",
        "people.csv.bz2",
        "people.csv.xz",
        "blanks.csv",
        "spaces.txt",
    ]
    runs = laconism_many(folder, *(["predict", "people.skops", name] for name in names))
    for name, (code, out, err) in zip(names, runs, strict=True):
        assert (code, out) == (0, fitted[1]), f"{name}: {err}"
    assert "above.csv: the names are in line 4; what stands above was left out." in runs[0][2]


def test_what_a_table_does_not_say_is_said(folder):
    rows = [f"{k},{k * k % 7},{'yes' if k % 2 else 'no '}" for k in range(40)]
    rows[7] = "7,0"
    mixed = [row if k % 4 else f"-{row[len(str(k)) :]}" for k, row in enumerate(rows)]
    truths = [f"{k},{k * k % 7},{'TRUE' if k % 2 else 'FALSE'}" for k in range(40)] + ["1,2,"]
    dates = [f"{k % 28 + 1} May 2024,{k * k % 7},{k % 2}" for k in range(60)]
    holes = [f"{k if k % 3 else -999},{k % 2 * 0.5},{k % 5 % 2}" for k in range(40)]
    tables = {"short": rows, "mixed": mixed, "truths": truths, "dates": dates, "holes": holes}
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(["x:a:,b,y", *lines]) + "\n")
    rest = ["--target", "y", "--model", "sparse", "--out", "said.skops"]
    short, mixed, truths, dates, holes, filled = laconism_many(
        folder,
        *(["fit", f"{name}.csv", *rest] for name in tables),
        ["fit", "holes.csv", *rest, "--missing", "-999"],
    )
    assert "short.csv: line 9 has fewer than 3 fields; what is not there counts" in flat(short[2])
    assert "left out x:a:: text with 30 distinct values, most of them numbers" in flat(mixed[2])
    assert "--missing '-'" in flat(mixed[2])
    assert "y: classification (true and false)" in truths[2]  # in spite of the hole
    assert "left out x:a:: dates" in flat(dates[2])
    assert "note: x:a:: -999 is far from all other values" in flat(holes[2])
    assert "missing values replaced by the median: x:a: (14)" in flat(filled[2])
    assert "far from all" not in filled[2] + short[2]


def flat(text):
    return " ".join(text.split())


@pytest.mark.slow
def test_the_names_of_seven_thousand_columns(folder):
    """They are longer than any head of a file; cut in two, a name may be another column's."""
    names = [f"gene_{k}" for k in range(7000)]
    (folder / "genes.csv").write_text(f"{','.join(names)}\n" + f"{','.join('1' * 7000)}\n" * 3)
    table = read_table(str(folder / "genes.csv"), Terminal(quiet=True))
    assert list(table.columns) == names
    (folder / "genes.csv").write_text(f"{','.join([*names, 'gene_1'])}\n" + f"{','.join('1' * 7001)}\n")
    with pytest.raises(UserError, match="more than one column is called gene_1;"):
        read_table(str(folder / "genes.csv"), Terminal(quiet=True))


def test_numbers_as_people_write_them_are_numbers(folder):
    rng = np.random.default_rng(0)
    price = (rng.normal(size=40) * 3000).round(2)
    table = pd.DataFrame({"price": price, "code": rng.integers(9, size=40), "y": price > 0})
    english = table.assign(price=[f"{value:,.2f}" for value in price])
    german = table.assign(
        price=[f"{value:,.2f} €".translate(str.maketrans(",.", ".,")) for value in price]
    )
    table.to_csv(folder / "plain.csv", index=False)
    english.to_csv(folder / "english.csv", index=False)
    german.to_csv(folder / "german.csv", index=False)
    german.to_csv(folder / "german_too.csv", sep=";", index=False)
    others = ["english.csv", "german.csv", "german_too.csv"]
    fit, plain, *runs = laconism_many(
        folder,
        ["fit", "english.csv", "--target", "y", "--out", "price.skops", "--model", "sparse"],
        *(["predict", "price.skops", name] for name in ["plain.csv", *others]),
    )
    first = english["price"][0]
    assert f"english.csv: price was read as numbers, {first!r} as {price[0]:g}." in fit[2]
    for name, (code, out, err) in zip(others, runs, strict=True):
        assert (code, out) == (0, plain[1]), name + err
    (folder / "words.csv").write_text(
        english.assign(price=["a dozen", *english["price"][1:]]).to_csv(index=False)
    )
    (words,) = laconism_many(folder, ["fit", "words.csv", "--target", "y", "--out", "words.skops"])
    assert "left out price: text with 40 distinct values" in words[2]


def test_many_columns_of_such_numbers_make_few_notes(folder, capsys):
    columns = {("self" if k == 0 else f"share {k}"): ["1.5 %", "2 %", None] for k in range(30)}
    pd.DataFrame(columns).to_csv(folder / "shares.csv", index=False)
    table = read_table(str(folder / "shares.csv"), Terminal())
    notes = " ".join(capsys.readouterr().err.split())
    assert notes.count("was read as numbers") == 5
    assert "read as numbers as well: share 5, share 6, share 7, share 8, share 9 and 20 more" in notes
    np.testing.assert_array_equal(table.sum(), 3.5)


def test_predicting_what_was_not_seen(folder, fitted):
    table = people(90)
    order = np.random.default_rng(0).permutation(90)
    table.iloc[order].to_csv(folder / "mixed.csv", index=False)
    table.assign(town="Oslo", more=1).to_csv(folder / "oslo.csv", index=False)
    table.drop(columns=["Größe", "town", "客", "name"]).to_csv(folder / "fewer.csv", index=False)
    table.assign(Größe="tall").to_csv(folder / "tall.csv", index=False)
    runs = laconism_many(
        folder,
        ["predict", "people.skops", "mixed.csv", "-q"],
        ["predict", "people.skops", "oslo.csv", "--json"],
        ["predict", "people.skops", "fewer.csv", "--out", "fewer.out"],
        ["predict", "people.skops", "tall.csv"],
    )
    assert runs[0][0] == 0
    expected = table_of(fitted[1]).iloc[order].reset_index(drop=True)
    pd.testing.assert_frame_equal(table_of(runs[0][1]), expected, check_exact=False, rtol=1e-12)
    said = json.loads(runs[1][1])
    assert (said["rows"], len(said["predictions"]["客"])) == (90, 90)
    notes = " ".join(said["notes"])
    assert "town: 90 rows with categories the model has not seen (Oslo)" in notes
    assert "does not know were ignored: more" in notes
    assert runs[2][0] == 1
    assert "fewer.csv has no column Größe, town, which the model needs." in runs[2][2]
    assert not (folder / "fewer.out").exists()
    assert runs[3][0] == 1
    assert "Column Größe has 'tall' where the model needs a number." in runs[3][2]


# ---- what people do wrong --------------------------------------------------------------------


def write_mistakes(folder):
    rows = "".join(f"{k},{k * k % 7},{k % 2}\n" for k in range(40))
    files = {
        "good.csv": "a,b,y\n" + rows,
        "empty.csv": "",
        "names.csv": "a,b,y\n",
        "long_row.csv": "a,b,y\n" + rows + "1,2,3,4\n5,6,1\n",
        "slip.csv": "a,b,y\n" + rows + "1o,2,1\n",
        "infinite.csv": "a,b,y\n" + rows + "inf,2,1\n",
        "huge.csv": "a,b,y\n" + rows + "1e200,2,1\n",
        "quote.csv": 'a,b,y\n1,"2,0\n3,4,1\n',
        "one_value.csv": "a,y\n" + "".join(f"{k},7\n" for k in range(40)),
        "no_target.csv": "a,y\n" + "".join(f"{k},\n" for k in range(40)),
        "twice.csv": "a,b,a,y\n1,2,3,0\n",
        "numbers.csv": "1,2,0\n3,4,1\n",
        "alone.csv": "y\n1\n2\n",
        "constant.csv": "a,b,y\n" + "".join(f"1,2,{k % 2}\n" for k in range(40)),
        "texts.csv": "a,y\n" + "".join(f"{k},word{k}\n" for k in range(40)),
    }
    for digits in (401, 5000):  # one integer among numbers, and a column of nothing else
        lines = [f"{'1' * digits if k == 5 else k},{k % 2 + 1}{'0' * digits},{k % 2}" for k in range(40)]
        files[f"digits{digits}.csv"] = "\n".join(["a,b,y", *lines, ""])
    for name, text in files.items():
        (folder / name).write_text(text)
    coded = pd.DataFrame({"word": [b"on", "än".encode()] * 20, "number": range(40)})
    coded.assign(y=[b"no", b"yes"] * 20, raw=[b"\xff", b"x"] * 20).to_parquet(folder / "bytes.parquet")
    coded.assign(word=[b"\xff", b"x"] * 20).to_parquet(folder / "raw.parquet")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 9)
    (folder / "none.parquet").write_text("not a table\nat all\n")
    (folder / "rows.json").write_text('[{"a": 1, "y": 0},\n {"a": 2, "y": 1}]')
    (folder / "lines.csv").write_text('{"a": 1, "y": 0}\n{"a": 2, "y": 1}\n')
    (folder / "page.csv").write_text("\n<!DOCTYPE html>\n<p>Not, found</p>\n")
    (folder / "odd.csv").write_bytes(files["good.csv"].encode("utf-16")[:-1])
    (folder / "no_code.csv").write_bytes(files["good.csv"].encode() + b"\x90,1,0\n")
    (folder / "cut.csv.xz").write_bytes(b"\xfd7zXZ\0 and so on")
    # As R writes it, with a name in front of every row and none for those names.
    (folder / "row_names.csv").write_text(files["good.csv"].replace("\n", "\nr1,").removesuffix("r1,"))
    (folder / "mark.csv").write_bytes(b"\xef\xbb\xbf\n")
    with zipfile.ZipFile(folder / "sheet.xlsx", "w") as sheet:
        sheet.writestr("[Content_Types].xml", "<Types/>")
        sheet.writestr("xl/workbook.xml", "<workbook/>")
    (folder / "cut.zip").write_bytes(b"PK\x03\x04 and so on")
    times = pd.DataFrame({"a": range(8), "when": [date(2020, 1, day) for day in (1, 2) * 4]})
    times["month"] = pd.period_range("2020", periods=8, freq="M")
    times["lasted"] = pd.to_timedelta(range(8), "h")
    times["both"] = [[1, 2]] * 8
    times.to_parquet(folder / "times.parquet")
    (folder / "cut.csv.gz").write_bytes(b"\x1f\x8b\x08\x00 and so on")
    (folder / "cut.parquet").write_bytes(b"PAR1 and so on")
    bare = laconism.SparseBayesClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    laconism.save(bare, folder / "bare.skops")


MISTAKES = [
    ("fit missing.csv -t y", "missing.csv: no such file or directory."),
    ("fit empty.csv -t y", "empty.csv is empty."),
    ("fit names.csv -t y", "names.csv has names but no rows."),
    ("fit long_row.csv -t y", "long_row.csv: line 42 has 4 fields, but 3 were expected"),
    ("fit slip.csv -t y", "Column a: row 41 has '1o' where the others have numbers"),
    ("fit infinite.csv -t y", "Column a is infinite or beyond 1.8e+308 in row 41"),
    ("fit digits401.csv -t a", "The target a is infinite or beyond 1.8e+308 in some rows"),
    ("fit digits401.csv -t b", "The target b is infinite or beyond 1.8e+308 in some rows"),
    ("fit digits401.csv -t b --task classification", "The target b is infinite or beyond"),
    ("fit digits401.csv -t y", "Column a is infinite or beyond 1.8e+308 in row 6"),
    ("fit digits401.csv -t y --drop a", "Column b is infinite or beyond 1.8e+308 in row 1"),
    ("fit digits5000.csv -t a", "The target a is infinite or beyond 1.8e+308 in some rows"),
    ("fit digits5000.csv -t b --task regression", "The target b is infinite or beyond"),
    ("fit digits5000.csv -t y", "Column a is infinite or beyond 1.8e+308 in row 6"),
    ("fit digits5000.csv -t y --drop a", "Column b is infinite or beyond 1.8e+308 in row 1"),
    ("predict numbers.skops digits401.csv", "Column a is infinite or beyond 1.8e+308 in row 6"),
    ("predict numbers.skops digits5000.csv", "Column a is infinite or beyond 1.8e+308 in row 6"),
    (
        f"fit good.csv -t y --model rvm --set gamma={'1' * 401}",
        "gamma must be positive, 'scale' or 'auto', got inf.",
    ),
    ("fit bytes.parquet -t raw", "The target raw has binary data; make numbers of them first."),
    ("predict words.skops raw.parquet", "Column word has binary data where the model needs text."),
    ("fit huge.csv -t y", "Column a has 1.0e+200, too large to square, in row 41"),
    ("fit quote.csv -t y", "quote.csv: a quote is opened"),
    ("fit good.csv -t z", "good.csv has no column 'z'; it has a, b, y."),
    ("evaluate good.csv -t z", "good.csv has no column 'z'"),
    ("report good.csv -t z", "good.csv has no column 'z'"),
    ("fit one_value.csv -t y", "The target y is 7 in every row"),
    ("evaluate one_value.csv -t y", "The target y is 7 in every row"),
    ("fit no_target.csv -t y", "the target y is missing in every row"),
    ("fit twice.csv -t y", "more than one column is called a"),
    ("fit numbers.csv -t y", "the first line has numbers, not names"),
    ("fit alone.csv -t y", "alone.csv has one column only"),
    ("fit constant.csv -t y", "No column is left"),
    ("fit texts.csv -t y", "40 distinct values in 40 rows: too many for classes"),
    ("fit texts.csv -t y --task regression", "is not numbers"),
    ("fit binary.csv -t y", "it holds binary data"),
    ("fit sheet.xlsx -t y", "save it as CSV"),
    ("fit mark.csv -t y", "mark.csv is empty."),
    ("fit times.parquet -t when", "The target when has dates; make numbers of them first."),
    ("fit times.parquet -t month", "The target month has dates"),
    ("fit times.parquet -t lasted", "The target lasted has durations"),
    ("fit times.parquet -t both", "The target both has lists"),
    ("fit cut.zip -t y", "the zip file is damaged"),
    ("fit cut.csv.gz -t y", "the gzip file is damaged"),
    ("fit cut.csv.xz -t y", "the xz file is damaged"),
    ("fit none.parquet -t y", "none.parquet is no Parquet file, though it is called one."),
    ("fit rows.json -t y", "rows.json is JSON, not a table"),
    ("fit lines.csv -t y", "lines.csv is JSON, not a table"),
    ("fit page.csv -t y", "page.csv is a web page, not a table"),
    ("fit odd.csv -t y", "odd.csv is damaged: it is not all UTF-16."),
    ("fit no_code.csv -t y", "no_code.csv is neither UTF-8 nor Windows-1252: save it as UTF-8."),
    ("fit row_names.csv -t y", "there are 3 names, but rows with more fields"),
    ("fit good.csv -t y --out good.csv", "--out good.csv would overwrite good.csv"),
    ("report good.csv -t y --out ./good.csv", "would overwrite good.csv"),
    ("fit good.csv -t y --out -", "--out needs the name of a file, got '-'"),
    ("predict bare.skops good.csv --out good.csv", "--out good.csv would overwrite good.csv"),
    ("predict bare.skops good.csv --out new.xlsx", "written as CSV, TSV or Parquet, not as xlsx."),
    ("fit cut.parquet -t y", "cut.parquet cannot be read as Parquet"),
    ("fit good.csv -t y --set colour=1", "LaconicClassifier has no setting 'colour'"),
    ("fit good.csv -t y --set tolerance=-1", "tolerance must be a positive number"),
    ("fit good.csv -t y --drop c", "There is no column c"),
    ("fit good.csv -t y --model grid --grid-shape 3x3", "grid_shape=(3, 3) has 9 entries"),
    ("fit good.csv -t y --model grid --grid-shape big", "--grid-shape must look like 8x8"),
    ("fit good.csv -t y --model jcfo --kernel none", "rbf, poly or linear"),
    ("fit good.csv -t y --out nowhere/m.skops", "nowhere is not a folder"),
    ("fit good.csv -t y --out good.csv/m.skops", "good.csv is not a folder"),
    ("report good.csv -t y --out .", "is a folder; name a file"),
    ("evaluate good.csv -t y --folds 30", "40 rows are too few for 30 folds."),
    ("predict good.csv good.csv", "good.csv is not a model"),
    ("predict none.skops good.csv", "none.skops: no such file."),
    ("inspect binary.csv", "binary.csv is not a model"),
    ("inspect .", ". is a folder: give the file's name too."),
    ("predict bare.skops good.csv", "a SparseBayesClassifier that was not saved by `laconism fit`"),
]


def test_mistakes_get_one_sentence(folder):
    write_mistakes(folder)
    (folder / "model.skops").write_bytes(b"old")
    sparse = ["-q", "--model", "sparse", "--kernel", "none", "-o"]
    slip = ["fit", "slip.csv", "-t", "y"]
    numbers, words, said, *runs, quiet, debug, mended = laconism_many(
        folder,
        ["fit", "good.csv", "-t", "y", *sparse, "numbers.skops"],
        ["fit", "bytes.parquet", "-t", "y", *sparse, "words.skops"],
        ["predict", "words.skops", "bytes.parquet", "-q"],
        *(command.split() for command, _ in MISTAKES),
        [*slip, "-q"],
        [*slip, "--debug"],
        [*slip, "--missing", "1o", "-o", "mended.skops", "-q"],
    )
    assert numbers == words == [0, "", ""]
    assert set(table_of(said[1])["y"]) == {"no", "yes"}  # bytes are text
    for (command, sentence), (code, out, err) in zip(MISTAKES, runs, strict=True):
        last = err.splitlines()[-1]
        assert code == 1, f"{command}: {code} {err}"
        assert last.startswith("error: "), command
        assert sentence in last, f"{command}: {last}"
        assert out == "", command
        assert "Traceback" not in err, command
    assert (folder / "model.skops").read_bytes() == b"old"  # a failure leaves what was there
    assert not list(folder.glob(".*"))  # and no drafts
    assert quiet[2].count("\n") == 1
    assert "Traceback" in debug[2]
    assert mended == [0, "", ""]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder that refuses files")
def test_a_folder_that_refuses_files(folder):
    (folder / "good.csv").write_text("a,b,y\n" + "".join(f"{k},1,{k % 2}\n" for k in range(40)))
    run = laconism_once(folder, "fit", "good.csv", "-t", "y", "--out", "/proc/model.skops")
    assert run.returncode == 1
    assert run.stderr.startswith("error: The folder /proc cannot be written to")
    assert run.stderr.count("\n") == 1  # before any work


def test_usage_and_help(folder):
    commands = [[], ["-h"], ["--version"], ["fit"], ["fit", "x.csv", "-t", "y", "--model", "magic"]]
    commands += [["evaluate", "x.csv", "-t", "y", "--models", "auto,magic"], ["dance"]]
    commands += [[name, "--help"] for name in ("fit", "predict", "inspect", "evaluate", "report")]
    runs = laconism_many(folder, *commands)
    assert [code for code, _, _ in runs][1:] == [0, 0, 2, 2, 2, 2] + [0] * 5
    assert runs[2][1].startswith("laconism ")
    assert "'magic' is none of auto, sparse" in runs[4][2]
    for _, out, err in runs:
        assert max((len(line) for line in out.splitlines()), default=0) <= 80
        assert "Traceback" not in err
        assert "\x1b" not in out + err  # no colours where there is no terminal


# ---- all models, both tasks ------------------------------------------------------------------


@pytest.mark.slow
def test_every_model_fits_inspects_and_predicts(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(48, 4)).round(3)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table["y"] = X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=48)
    table["k"] = np.where(X[:, 0] > 0.5, "high", np.where(X[:, 1] > 0, "low", "mid"))
    table.to_csv(folder / "four.csv", index=False)
    choices = [["auto"], ["auto", "--kernel", "none"], ["sparse"], ["sparse", "--kernel", "rbf"]]
    choices += [["rvm", "--set", "gamma=0.1"], ["grid"], ["grid", "--grid-shape", "2x2"], ["jcfo"]]
    commands = []
    for target, other in (("y", "k"), ("k", "y")):
        for k, choice in enumerate(choices):
            path = f"four-{target}{k}.skops"
            commands += [
                ["fit", "four.csv", "-t", target, "--drop", other, "-q", "-o", path, "--model", *choice],
                ["inspect", path],
                ["inspect", path, "--json"],
                ["predict", path, "four.csv", "-q"],
            ]
    runs = laconism_many(folder, *commands)
    for place in range(0, len(runs), 4):
        command = " ".join(commands[place])
        for code, _, err in runs[place : place + 4]:
            assert (code, err) == (0, ""), f"{command}: {err}"
        words, said, found = runs[place + 1][1], json.loads(runs[place + 2][1]), runs[place + 3][1]
        assert "It keeps" in words, command
        assert max(len(line) for line in words.splitlines()) <= 80, command
        assert "█" in words
        assert said["converged"] is True
        assert said["columns"] == ["a", "b", "c", "d"]
        found = table_of(found)
        if "-t y" in command:
            assert list(found.columns) == ["y", "std(y)"], command
            assert np.mean((found["y"] - table["y"]) ** 2) < 0.25 * table["y"].var(), command
            assert (found["std(y)"] > 0).all()
        else:
            assert (found["k"] == table["k"]).mean() > 0.75, command
    sparse = json.loads(runs[commands.index(["inspect", "four-y2.skops", "--json"])][1])
    weights = sparse["bars"][0]["values"]
    scale = table[["a", "b"]].std(ddof=0)
    assert set(weights) == {"a", "b"}
    np.testing.assert_allclose([weights["a"], weights["b"]], [scale["a"], -2 * scale["b"]], atol=0.1)


def test_targets_are_what_they_look_like(folder):
    n = 60
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    columns = {
        "flag": a > 0,
        "few": np.where(a > 0, 3.0, 5.0),  # whole numbers as floats are classes all the same
        "many": np.arange(n),
        "none": np.where(a > 0, "None", "NA-x"),  # a class may be called None
        "large": [str(2**63 + 5000 * int(x > 0)) for x in a],  # and have a number that no integer holds
    }
    for name, y in columns.items():
        pd.DataFrame({"a": a, name: y}).to_csv(folder / f"{name}.csv", index=False)
    commands = []
    for name in columns:
        commands.append(["fit", f"{name}.csv", "-t", name, "--model", "sparse", "-o", f"{name}.skops"])
        commands.append(["predict", f"{name}.skops", f"{name}.csv", "-q"])
    runs = laconism_many(folder, *commands)
    tasks = [re.search(r"^\w+: (\w+) \(", err, re.MULTILINE).group(1) for _, _, err in runs[::2]]
    classes = "classification"
    assert tasks == [classes, classes, "regression", classes, classes]
    labels = [{line.split(",")[0] for line in out.splitlines()[1:]} for _, out, _ in runs[1::2]]
    assert labels[0] == {"True", "False"}
    assert labels[1] == {"3", "5"}
    assert labels[3] == {"None", "NA-x"}
    assert labels[4] == {str(2**63), str(2**63 + 5000)}


# ---- large and wide --------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_thousand_rows(folder):
    n = 100_000
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=["a", "b", "c"])
    table["town"] = rng.choice(["Bath", "Rome"], n)
    latent = 2 * table["a"] + (table["town"] == "Rome") + rng.logistic(size=n)
    table["y"] = (latent > 0.5).astype(int)
    table.to_csv(folder / "large.csv", index=False)
    runs = laconism_many(
        folder,
        ["fit", "large.csv", "-t", "y", "--model", "sparse", "-o", "large.skops", "--json"],
        ["fit", "large.csv", "-t", "y", "--max-rows", "300", "-o", "sample.skops", "--json"],
        ["predict", "large.skops", "large.csv", "-o", "large.out.csv", "-q"],
        ["evaluate", "large.csv", "-t", "y", "--folds", "2", "--models", "sparse,linear,gp", "--json"],
    )
    assert [code for code, _, _ in runs] == [0, 0, 0, 0]
    whole, sample, compared = (json.loads(runs[k][1]) for k in (0, 1, 3))
    assert (whole["rows"], sample["rows"]) == (n, 300)
    assert any("fitted on 300 rows drawn from 100,000" in note for note in sample["notes"])
    found = pd.read_csv(folder / "large.out.csv")
    assert len(found) == n
    assert (found["y"] == table["y"]).mean() > 0.75
    assert any("Gaussian process left out" in note for note in compared["notes"])
    sparse, linear = compared["models"]
    assert sparse["kept"] <= 3  # of four features, one of which matters for nothing
    assert abs(sparse["log_loss"] - linear["log_loss"]) < 1e-3


@pytest.mark.slow
def test_two_thousand_columns(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2000)).round(3)
    names = [f"gene {k}" for k in range(2000)]
    y = np.where(X[:, 1321] - X[:, 17] + 0.1 * rng.normal(size=120) > 0, "ill", "well")
    pd.DataFrame(X, columns=names).assign(state=y).to_csv(folder / "wide.csv", index=False)
    fit, seen = laconism_many(
        folder,
        ["fit", "wide.csv", "-t", "state", "--model", "sparse", "-o", "wide.skops", "--json"],
        ["inspect", "wide.skops", "--json"],
    )
    assert fit[0] == 0, fit[2]
    assert json.loads(fit[1])["features"] == 2000
    assert {"gene 17", "gene 1321"} <= set(json.loads(seen[1])["bars"][0]["values"])


def test_categories_without_number(folder):
    rng = np.random.default_rng(0)
    n = 300
    town = rng.integers(0, 40, n)
    table = pd.DataFrame({"town": [f"t{k}" for k in town], "a": rng.normal(size=n)})
    table["PatientId"] = np.arange(n) + 1000
    table["code"] = [f"c{k}" for k in range(n)]
    table["y"] = table["a"] + (town == 0)
    table.to_csv(folder / "towns.csv", index=False)
    table["when"], table["long"] = (
        pd.Timestamp("2020") + pd.to_timedelta(town, "D"),
        pd.Timedelta("1h") * town,
    )
    table["list"], table["half"] = [[k] for k in town], pd.array(np.where(town < 9, None, town), "Int64")
    table.drop(columns=["code", "PatientId"]).to_parquet(folder / "towns.parquet")
    command = ["fit", "towns.csv", "-t", "y", "--model", "sparse", "-o", "towns.skops", "--json"]
    runs = laconism_many(
        folder,
        command,
        [*command, "--keep", "PatientId", "--drop", "code"],
        ["fit", "towns.parquet", *command[2:]],
        ["predict", "towns.skops", "towns.parquet", "-o", "towns.out.parquet", "-q"],
    )
    assert [code for code, _, _ in runs] == [0, 0, 0, 0]
    said, kept, typed = (json.loads(out) for _, out, _ in runs[:3])
    assert typed["features"] == 22
    assert "left out when: dates" in typed["notes"][1]
    assert typed["notes"][2] == "left out long: durations; make numbers of them first."
    assert typed["notes"][3] == "left out list: lists."
    assert list(pd.read_parquet(folder / "towns.out.parquet").columns) == ["y", "std(y)"]
    assert (said["features"], kept["features"]) == (21, 22)
    notes = " ".join(said["notes"])
    assert "town has 40 categories: the rarest share one" in notes
    assert "left out PatientId: an identifier" in notes
    assert "left out code: text with 300 distinct values" in notes


# ---- should I use this? ----------------------------------------------------------------------


@pytest.mark.slow
def test_evaluate_measures_what_it_says(folder):
    rng = np.random.default_rng(0)
    n = 120
    X = rng.normal(size=(n, 3)).round(3)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["k"] = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.5, "yes", "no")
    table["noise"] = rng.normal(size=n).round(3)
    table.to_csv(folder / "ev.csv", index=False)
    classes, noise, shown = laconism_many(
        folder,
        ["evaluate", "ev.csv", "-t", "k", "--folds", "3", "--json"],
        ["evaluate", "ev.csv", "-t", "noise", "--models", "svc,linear,baseline,auto", "--json"],
        ["evaluate", "ev.csv", "-t", "k", "--folds", "3", "--models", "sparse,baseline"],
    )
    said = json.loads(classes[1])
    rows = {row["model"]: row for row in said["models"]}
    rivals = ["svc", "gp", "forest", "boosting", "linear", "baseline"]
    assert list(rows) == ["auto", "sparse", "rvm", *rivals]
    assert (rows["forest"]["kept"], rows["forest"]["kept_of"]) == (300, "trees")
    share = (table["k"] == "yes").mean()
    assert rows["baseline"]["error"] == pytest.approx(min(share, 1 - share))
    assert rows["baseline"]["log_loss"] == pytest.approx(
        -share * np.log(share) - (1 - share) * np.log(1 - share), abs=1e-3
    )
    assert rows["gp"]["kept"] == 80
    # the same folds by hand, with scikit-learn alone around our estimator
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), laconism.SparseBayesClassifier())
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    inputs, k = table[["a", "b", "c", "noise"]].to_numpy(), table["k"].to_numpy(dtype=str)
    proba = cross_val_predict(model, inputs, k, cv=folds, method="predict_proba")
    truth = np.where(k == "yes", proba[:, 1], proba[:, 0])
    assert rows["sparse"]["log_loss"] == pytest.approx(-np.log(truth).mean(), rel=1e-6)
    assert rows["sparse"]["error"] == pytest.approx(np.mean(truth < 0.5))
    assert said["advice"].endswith(".")
    assert said["advice"].count(". ") == 0
    assert "told from the mean baseline" in json.loads(noise[1])["advice"]
    values = json.loads(noise[1])["models"]
    assert [row["model"] for row in values] == ["auto", "svc", "linear", "baseline"]
    assert all(row["rmse"] > 0 and np.isfinite(row["nlpd"]) for row in values)
    assert "laconism sparse" in shown[1]
    assert max(len(line) for line in shown[1].splitlines()) <= 80


# ---- terminals, pipes and signals ------------------------------------------------------------


@pytest.mark.slow
def test_a_closed_pipe_ends_quietly(folder, fitted):
    people(20_000).to_csv(folder / "flood.csv", index=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "laconism", "predict", "people.skops", "flood.csv", "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(),
    )
    assert process.stdout.readline()
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert error == b""


@pytest.mark.slow
def test_results_go_where_they_are_sent(folder, fitted):
    """To stdout by its other name, packed if the name says so, and nowhere if nobody is there."""
    commands = [
        ["predict", "people.skops", "people.csv", "-q", "-o", out] for out in ("-", "new.tsv.gz")
    ]
    runs = laconism_many(folder, *commands)
    assert runs[0][:2] == [0, fitted[1]]
    assert pd.read_csv(folder / "new.tsv.gz", sep="\t").equals(table_of(fitted[1]))
    command = [sys.executable, "-m", "laconism", "inspect", "people.skops", "-q"]
    many = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment()
    )
    many.stdout.close()  # before the first line
    assert many.stderr.read() == b""
    many.stderr.close()
    assert many.wait() == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="streams are closed otherwise there")
def test_closed_streams(folder, fitted):
    shell = f"{sys.executable} -m laconism"
    runs = [
        subprocess.run(["sh", "-c", command], cwd=folder, env=environment(), capture_output=True)
        for command in (
            f"{shell} fit - -t y <&-",
            f"{shell} predict people.skops people.csv -o quiet.csv 2>&-",
        )
    ]
    assert runs[0].stderr == b"error: stdin is empty.\n"
    assert (runs[1].returncode, (folder / "quiet.csv").read_text()) == (0, fitted[1])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk is always full")
def test_no_room_for_the_help(folder):
    command = f"{sys.executable} -m laconism --help > /dev/full"
    run = subprocess.run(["sh", "-c", command], cwd=folder, env=environment(), capture_output=True)
    assert (run.returncode, run.stderr) == (1, b"error: stdout: no space left on device.\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send")
def test_an_interrupt_ends_quietly(folder):
    people(2_000).to_csv(folder / "slow.csv", index=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "laconism", "evaluate", "slow.csv", "-t", "客", "--folds", "20"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(),
    )
    first = process.stderr.readline()
    assert first.startswith(b"slow.csv: 2,000 rows")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


@pytest.mark.slow
def test_without_the_extra_there_is_one_sentence(folder):
    code = """
import sys
import laconism.cli
loaded = {"typer", "skops"} & set(sys.modules)
sys.stdout.write(" ".join(loaded))
sys.modules["typer"] = None
laconism.cli.main()
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env=environment()
    )
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr == 'The laconism command needs the package typer: pip install "laconism[cli]".\n'
