"""Runs a notebook in a kernel of this Python. Its outputs are those that it has already: text to the letter, figures
by their kind. Usage: run_notebook.py NOTEBOOK [NEW]; NEW gets the notebook with the outputs of this run."""
import sys
from pathlib import Path

import nbclient
import nbformat


def shown(cell):
    """What the outputs of a cell show: text, or the kind of a picture. Where the kernel cuts a stream is a matter of
    time."""
    found, before = [], None
    for output in cell.outputs:
        stream = output.get("name")
        if stream and stream == before:
            found[-1] += output.text
        elif stream:
            found.append(output.text)
        else:
            pictures = [kind for kind in output.data if kind.startswith("image/")]
            found.append(pictures or output.data["text/plain"])
        before = stream
    return found


def main():
    path = Path(sys.argv[1])
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    expected = [shown(cell) for cell in code]
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": path.parent}}).execute()
    if len(sys.argv) > 2:
        for cell in code:
            cell.metadata = {}
        notebook.metadata.pop("widgets", None)
        nbformat.write(notebook, sys.argv[2])
        return
    for cell, old in zip(code, expected):
        if shown(cell) != old:
            sys.exit(f"{cell.source}\nshows {shown(cell)}, and not, as in the file, {old}")


main()
