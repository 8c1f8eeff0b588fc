"""Run the notebooks of the book and store what they print and draw: ``make notebooks [NB=01_ppca]``.

What is stored is stable: no times, no widget state, no random widget identifiers (the picture that an
explorer leaves is kept), no metadata but the kernel's name, the cells' tags and the words on a fold.
So a difference in version control is a difference in what a reader sees.
"""
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

BOOK = Path(__file__).resolve().parents[1]
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def coalesce(outputs):
    """Neighbouring pieces of one printed stream as one: how a kernel cuts them is chance."""
    whole = []
    for output in outputs:
        if whole and output.output_type == "stream" and whole[-1].get("name") == output.name:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def tidy(notebook):
    """Remove in place all that would differ from one run or one machine to the next."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        kept = {key: cell.metadata[key] for key in ("tags", "jupyter", "mystnb") if cell.metadata.get(key)}
        cell.metadata = nbformat.from_dict(kept)
        if "outputs" in cell:
            cell.outputs = coalesce(cell.outputs)
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                output.data.pop(WIDGET_VIEW, None)
            if "metadata" in output:
                output.metadata = nbformat.from_dict({})
    return notebook


def run(path):
    """Execute one notebook in its own folder and write it back; after an error nothing is written."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", record_timing=False, store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    nbformat.write(tidy(notebook), path)


def main(names):
    paths = [BOOK / f"{name.removesuffix('.ipynb')}.ipynb" for name in names] or sorted(BOOK.glob("*.ipynb"))
    for path in paths:
        if not path.exists():
            known = ", ".join(p.stem for p in sorted(BOOK.glob("*.ipynb")))
            sys.exit(f"There is no notebook {path.name} in the book. Choose NB= from: {known}.")
    for path in paths:
        print(f"running {path.name}", flush=True)
        try:
            run(path)
        except CellExecutionError as error:
            sys.exit(f"{path.name} is unchanged, because a cell failed.\n{error}")


if __name__ == "__main__":
    main([Path(name).name for name in sys.argv[1:]])
