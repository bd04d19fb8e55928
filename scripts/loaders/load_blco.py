"""Reads the files of blco into NumPy arrays. Needs only NumPy.

    from load_blco import load_blco, load_names

    weights, factors = load_blco("x")             # the model with the stem x
    subs, vals, shape = load_blco("x.blco")       # a tensor
    modes, names = load_names("x")                # of the model, or load_names("x.blco"): of the tensor

A model is (weights, factors): weights has R numbers, factors[n] is the factor matrix of mode n,
with a row for each index and R columns. If the stem has several formats, the first of ktns, npy, text
and csv is read, as by `blco cpd --init`; load_blco("x", format="text") reads text.

A tensor is (subs, vals, shape): row i of subs (int64) has the coordinates of nonzero i, counted from
0, vals[i] is its value, shape has the lengths of the modes. Nonzeros are in the order of the file.

Names are (modes, names): modes[n] is the name of mode n, names[n] the list of the names of its indices;
None where there are none.

A file that cannot be read raises ValueError or OSError. blco-model(5) and blco-file(5) describe the files.
"""

import csv
import os
import struct

import numpy as np

__all__ = ["load_blco", "load_names"]

FORMATS = ("ktns", "npy", "text", "csv")
ENDINGS = {"npy": ".npy", "text": ".mat", "csv": ".csv"}  # of a file for each mode


def load_blco(name, format=None, modes=None):
    """The model with the stem `name`, or the tensor in the file `name`, if that ends in .blco.

    format: "ktns", "npy", "text" or "csv", for a model; None: the first one that exists.
    modes: how many files of factor matrices to read; None: all that exist.
    """
    name = os.fspath(name)
    if name.endswith(".blco"):
        return _load_tensor(name)
    return _load_model(name, format, modes)


# Models


def _load_model(stem, format, modes):
    if format not in FORMATS + (None,):
        raise ValueError(f"format {format!r}, expected one of {', '.join(FORMATS)}")
    if stem.endswith(".ktns"):
        stem, format = stem[: -len(".ktns")], "ktns"
    _refuse_replacement(stem + ".lock")
    first = {kind: f"{stem}.mode1{ending}" for kind, ending in ENDINGS.items()} | {"ktns": stem + ".ktns"}
    for kind in (format,) if format else FORMATS:
        if os.path.exists(first[kind]):
            model = _load_ktns(first[kind]) if kind == "ktns" else _load_matrices(stem, kind, modes)
            return _checked_model(stem, *model)
    raise FileNotFoundError(f"no model {stem} of format {format or 'ktns, npy, text or csv'}")


def _refuse_replacement(lock):
    """Refuses a model whose files are being replaced: some may be old and some new (blco-model(5))."""
    try:
        with open(lock, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return
    if "replace" in lines:
        raise ValueError(f"{lock}: the files of this model are being replaced, or a run was killed while it "
                         "replaced them; the next run with this stem makes the model whole")


def _checked_model(stem, weights, factors):
    if not factors or any(f.ndim != 2 or f.shape[1] != weights.size for f in factors):
        raise ValueError(f"{stem}: factor matrices of {[f.shape for f in factors]} and {weights.size} weights")
    return weights, factors


def _load_matrices(stem, kind, modes):
    ending = ENDINGS[kind]
    read = {"npy": np.load, "text": lambda path: np.loadtxt(path, ndmin=2), "csv": _load_csv}[kind]
    factors = []
    path = f"{stem}.mode1{ending}"
    while len(factors) < modes if modes else os.path.exists(path):
        factors.append(read(path))
        path = f"{stem}.mode{len(factors) + 1}{ending}"
    return read(f"{stem}.lambda{ending}").reshape(-1), factors


def _load_csv(path):
    """The numbers of CSV with a header and a first column of names."""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = list(csv.reader(file))[1:]
    if not rows or any(len(row) != len(rows[0]) or len(row) < 2 for row in rows):
        raise ValueError(f"{path}: expected rows of a name and as many numbers each")
    return np.array([row[1:] for row in rows], dtype=np.float64)


def _load_ktns(path):
    """The `ktensor` text of Tensor Toolbox: words and numbers separated by blanks."""
    with open(path, encoding="ascii") as file:
        words = file.read().split()
    at = 0

    def take(count):
        nonlocal at
        if at + count > len(words):
            raise ValueError(f"{path}: ends where {count} numbers are expected")
        at += count
        return words[at - count : at]

    def expect(word):
        found = take(1)[0]
        if found != word:
            raise ValueError(f"{path}: {found!r}, expected {word!r}")

    expect("ktensor")
    order = int(take(1)[0])
    shape = [int(word) for word in take(order)]
    rank = int(take(1)[0])
    weights = np.array(take(rank), dtype=np.float64)
    factors = []
    for length in shape:
        for word in ("matrix", "2", str(length), str(rank)):
            expect(word)
        factors.append(np.array(take(length * rank), dtype=np.float64).reshape(length, rank))
    return weights, factors


# Names


def load_names(name):
    """The names of the model with the stem `name`, or of the tensor in the file `name`, if that ends in
    .blco, .tns or .tns.gz: (modes, names), a name or None for each mode, and a list of names or None."""
    name = os.fspath(name)
    stem = next((name[: -len(end)] for end in (".tns.gz", ".tns", ".blco", ".ktns") if name.endswith(end)), name)
    _refuse_replacement(stem + ".lock")
    names = [_load_map(f"{stem}.mode{n}.map") for n in range(1, MOST_MODES + 1)]
    modes = _load_map(stem + ".modes.map") or []
    if name.endswith(".blco"):
        modes = _mode_names(name) or modes
    order = max([len(modes)] + [n + 1 for n, list_of in enumerate(names) if list_of is not None])
    return [mode or None for mode in modes + [None] * (order - len(modes))], names[:order]


def _load_map(path):
    """The names of a file, or None where there is none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    lines = text.removeprefix("\ufeff").split("\n")
    return [_name_of(line.removesuffix("\r")) for line in (lines[:-1] if lines[-1] == "" else lines)]


def _name_of(line):
    """The name for which a text line stands (blco-csv(5)); the backslash comes last."""
    return line.replace("\\x0a", "\n").replace("\\x0d", "\r").replace("\\x5c", "\\")


def _mode_names(path):
    """The names of modes at the end of the first page of a .blco file; [] where there are none."""
    with open(path, "rb") as file:
        shape = _read_header(path, file)[0]
        file.seek(PAGE - MOST_MODES * MODE_NAME)
        names = [file.read(MODE_NAME).split(b"\0")[0].decode("utf-8", "surrogateescape") for _ in shape]
    return names if any(names) else []


# Tensors

MOST_MODES = 16
MODE_NAME = 128  # bytes
MAGIC = b"\x89BLCO\r\n\x1a"
HEADER = struct.Struct("=8sIIQQQQQQQQII16QQ")
PAGE = 4096
SEGMENT = np.dtype([("offset", "=u8"), ("bytes", "=u4"), ("ngroups", "=u4"), ("crc", "=u8")])


def _crc64_of_byte(crc):
    for _ in range(8):
        crc = crc >> 1 ^ (0xC96C5795D7870F42 if crc & 1 else 0)
    return crc


def _crc64(data, table=tuple(map(_crc64_of_byte, range(256)))):
    """CRC-64 (ECMA-182, reflected) of bytes."""
    crc = (1 << 64) - 1
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ (1 << 64) - 1


def _load_tensor(path):
    with open(path, "rb") as file:
        shape, nnz, directory = _read_header(path, file)
        places = _line_places(shape)
        subs = np.empty((nnz, len(shape)), dtype=np.int64)
        vals = np.empty(nnz, dtype=np.float64)
        first = 0
        for segment in directory:
            file.seek(int(segment["offset"]))
            data = file.read(int(segment["bytes"]))
            try:
                line, value = _decode_segment(data, int(segment["ngroups"]), len(places))
                count = value.size
                vals[first : first + count] = value
                subs[first : first + count] = _coordinates(line, places, len(shape))
            except (IndexError, ValueError) as error:
                raise ValueError(f"{path}: damaged after nonzero {first}: {error}") from error
            first += count
    if first != nnz or (subs >= np.array(shape)).any():
        raise ValueError(f"{path}: damaged; `blco info` says more")
    return subs, vals, shape


def _read_header(path, file):
    """(lengths, number of nonzeros, directory of segments). Verifies the checksums of header and
    directory, but not those of segments, which would double the time."""
    page = file.read(PAGE)
    if len(page) < PAGE or not page.startswith(MAGIC):
        raise ValueError(f"{path}: is no .blco file")
    (_, byte_order, version, file_bytes, nnz, _, nsegments, data_offset, data_bytes, directory_offset,
     directory_crc, order, _, *rest) = HEADER.unpack_from(page)
    dims, header_crc = rest[:16], rest[16]
    if byte_order != 0x01020304:
        raise ValueError(f"{path}: has the byte order of another kind of machine")
    if version != 3:
        raise ValueError(f"{path}: version {version}, expected 3")
    zeroed = page[: HEADER.size - 8] + bytes(8) + page[HEADER.size :]
    if _crc64(zeroed) != header_crc:
        raise ValueError(f"{path}: the header is damaged")
    file.seek(0, os.SEEK_END)
    if file.tell() != file_bytes:
        raise ValueError(f"{path}: has {file.tell()} bytes, expected {file_bytes}")
    file.seek(data_offset + data_bytes)
    end = file.read()
    gap = directory_offset - data_offset - data_bytes
    if _crc64(end) != directory_crc or len(end) != gap + nsegments * SEGMENT.itemsize:
        raise ValueError(f"{path}: the directory is damaged")
    return tuple(dims[:order]), nnz, np.frombuffer(end[gap:], dtype=SEGMENT)


def _line_places(shape):
    """(mode, bit) of each bit of the encoding line, from the lowest one up."""
    bits = [(length - 1).bit_length() for length in shape]
    return [(mode, bit) for bit in range(max(bits, default=0)) for mode in range(len(shape)) if bit < bits[mode]]


def _coordinates(line, places, order):
    """(nonzeros x order) coordinates of lines, which are (32-bit limbs x nonzeros)."""
    subs = np.zeros((line.shape[1], order), dtype=np.int64)
    for place, (mode, bit) in enumerate(places):
        subs[:, mode] |= (line[place // 32] >> np.uint64(place % 32) & np.uint64(1)).astype(np.int64) << bit
    return subs


def _decode_segment(data, ngroups, line_bits):
    """(lines, values) of a segment's bytes; lines are (32-bit limbs x nonzeros), lowest limb first."""
    line_words = (line_bits + 63) // 64
    entry = np.dtype([("first", "=u4"), ("at", "=u4"), ("count", "=u2"), ("low_bits", "u1"), ("form", "u1"),
                      ("value_bits", "u1"), ("decimals", "u1"), ("upper_words", "u1"), ("unused", "u1"),
                      ("least", "=i8"), ("line", "=u4", (2 * line_words,))])
    group = np.frombuffer(data, dtype=entry, count=ngroups)
    words = np.append(np.frombuffer(data, dtype="=u4"), np.zeros(2, "=u4")).astype(np.uint64)
    count = group["count"].astype(np.int64)
    low_bits, value_bits = group["low_bits"].astype(np.int64), group["value_bits"].astype(np.int64)
    low_at = group["at"].astype(np.int64) * 8
    value_at = low_at + (count * low_bits + 31) // 32 * 32
    upper_at = value_at + (count * value_bits + 31) // 32 * 32

    of = np.repeat(np.arange(ngroups), count)  # the group of each nonzero
    within = np.arange(of.size) - np.repeat(np.cumsum(count) - count, count)  # its number in the group
    upper = _set_bits(words, upper_at // 32, group["upper_words"].astype(np.int64), count) - within
    low = _fields(words, low_at[of] + within * low_bits[of], low_bits[of], 4)
    line = _sum_lines(group["line"][of].T.astype(np.uint64), upper.astype(np.uint64), low_bits[of], low)
    field = _fields(words, value_at[of] + within * value_bits[of], value_bits[of], 2)
    return line, _values(group[of], field[0] | field[1] << np.uint64(32))


def _fields(words, at, bits, limbs):
    """(limbs x fields): the fields of `bits` bits each, starting at bit `at` of the words, cut into limbs
    of 32 bits, the lowest one first."""
    field = np.zeros((limbs, at.size), dtype=np.uint64)
    for limb in range(limbs):
        width = np.clip(bits - 32 * limb, 0, 32)
        some = np.flatnonzero(width)
        start = at[some] + 32 * limb
        pair = words[start // 32] | words[start // 32 + 1] << np.uint64(32)
        mask = (np.uint64(1) << width[some].astype(np.uint64)) - np.uint64(1)
        field[limb, some] = pair >> (start % 32).astype(np.uint64) & mask
    return field


def _set_bits(words, at, length, count):
    """The numbers of the set bits in each group's bit vector, one group after the other. The vector
    of a group is `length` words, starting at word `at`, and has `count` set bits."""
    owner = np.repeat(np.arange(at.size), length)
    begin = np.cumsum(length) - length
    index = np.arange(owner.size) - begin[owner] + at[owner]
    bits = np.unpackbits(words[index].astype("<u4").view(np.uint8), bitorder="little").reshape(-1, 32)
    if (np.add.reduceat(bits.sum(axis=1), begin) != count).any():
        raise ValueError("a bit vector has the wrong number of set bits")
    return np.flatnonzero(bits) - np.repeat(begin * 32, count)


def _sum_lines(line, upper, low_bits, low):
    """line + (upper << low_bits) + low, in 32-bit limbs; only the lowest four limbs change."""
    carry = np.zeros(upper.size, dtype=np.uint64)
    shifted = upper << (low_bits % 32).astype(np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    for limb in range(min(4, line.shape[0])):
        sum = line[limb] + low[limb] + carry
        sum += np.where(low_bits // 32 == limb, shifted & mask, np.uint64(0))
        sum += np.where(low_bits // 32 == limb - 1, shifted >> np.uint64(32), np.uint64(0))
        line[limb], carry = sum & mask, sum >> np.uint64(32)
    return line


def _values(group, field):
    """The values of fields; group has the entry of each nonzero's group."""
    form = group["form"]
    whole = group["least"] + field.astype(np.int64)
    with np.errstate(invalid="ignore"):  # the bits of other forms may be a signalling NaN as floats
        floats = field.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.select(
        [form == 0, form == 1, form == 2, form == 3],
        [group["least"].astype(np.int64).view(np.float64),
         whole / np.array([float(10**d) for d in range(23)])[group["decimals"]],
         floats,
         field.view(np.float64)])
