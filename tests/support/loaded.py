"""Tests of load_blco.py. Usage: loaded.py LOADERS models STEM | tensor FILE.blco TEXT.tns | names NAME
| refuse NAME

models: the formats of a model hold the same bits. tensor: the nonzeros of a .blco file are those of the
text, in its order. Both write what they loaded to loaded.bin, as doubles, for comparison with other
loaders. refuse: prints the error that the loader raises."""
import sys

import numpy as np

loaders, what, *names = sys.argv[1:]
sys.path.append(loaders)
sys.dont_write_bytecode = True
from load_blco import load_blco, load_names  # noqa: E402

if what == "models":
    models = [load_blco(names[0], format) for format in ("text", "npy", "ktns", "csv", None)]
    for weights, factors in models:
        assert weights.dtype == np.float64 and weights.ndim == 1 and weights.size > 0
        assert np.array_equal(weights, models[0][0]) and len(factors) == len(models[0][1]) > 0
        assert all(np.array_equal(a, b) for a, b in zip(factors, models[0][1]))
    arrays = [weights] + factors
elif what == "tensor":
    subs, vals, shape = load_blco(names[0])
    text = np.loadtxt(names[1], ndmin=2)
    assert subs.dtype == np.int64 and vals.dtype == np.float64 and len(shape) == subs.shape[1]
    assert np.array_equal(text[:, :-1], subs + 1) and np.array_equal(text[:, -1], vals)
    assert (subs.max(axis=0) < np.array(shape)).all() and len(vals) > 0
    arrays = [subs + 1.0, vals, np.array(shape, dtype=float)]
elif what == "names":
    modes, names = load_names(names[0])
    if modes:
        print(*modes)
    for of_mode in names:
        print("|".join(of_mode))
    sys.exit()
else:
    try:
        load_blco(*names)
    except (ValueError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    sys.exit("nothing was refused")
np.concatenate([a.ravel() for a in arrays]).tofile("loaded.bin")
