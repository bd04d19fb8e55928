"""blco decomposes large sparse tensors by CP-ALS, on GPUs and CPUs.

    import blco

    model = blco.cpd("ratings.tns", 8)                                   # a file
    model = blco.cpd((coords, values), 8, nonneg=True)                   # NumPy arrays
    model = blco.cpd(frame, 8, columns=["user", "item", "hour"])         # a pandas DataFrame
    model.factors[0]

The work is done by the program blco, whose options are the keyword arguments of cpd(): `man blco-cpd`,
or `blco cpd --help=all`, explains them. The manual page of this module is blco-python(7).
"""

from ._cpd import __version__, cpd
from ._model import Model
from ._program import Error, InputError, MemoryLimitError, NotConverged, NumericalError, OutputError, program
from ._run import info

__all__ = ["Error", "InputError", "MemoryLimitError", "Model", "NotConverged", "NumericalError", "OutputError",
           "__version__", "cpd", "info", "program"]
