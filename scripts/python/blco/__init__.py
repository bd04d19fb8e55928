"""blco decomposes large sparse tensors by CP-ALS, on GPUs and CPUs.

    import blco

    model = blco.cpd("ratings.tns", 8)                                   # a file
    model = blco.cpd((coords, values), 8, nonneg=True)                   # NumPy arrays
    model = blco.cpd(frame, 8, columns=["user", "item", "hour"])         # a pandas DataFrame
    ranks = blco.cpd((coords, values), range(2, 9))                      # a model of each rank
    model.factors[0]

The work is done by the program blco, whose options are the keyword arguments of cpd(): help(blco.cpd) lists
them, and blco-cpd(1) explains them. The manual page of this module is blco-python(7).
"""

from ._cpd import __version__, cpd
from ._model import Comparison, Model, load
from ._program import (Error, InputError, MemoryLimitError, NotConverged, NumericalError, OutputError, Warning,
                       program)
from ._ranks import Ranks
from ._run import info

__all__ = ["Comparison", "Error", "InputError", "MemoryLimitError", "Model", "NotConverged", "NumericalError",
           "OutputError", "Ranks", "Warning", "__version__", "cpd", "info", "load", "program"]
