"""Write the comparison with the real data: ``python -m gplvm_edu.datasets [book/results/datasets.json]``."""
import json
import sys
from pathlib import Path

from .report import oil_flow_report

DEFAULT = Path("book/results/datasets.json")


def write_report(path=DEFAULT):
    """Write `oil_flow_report` as JSON and return the path."""
    path = Path(path)
    if not path.parent.is_dir():
        raise SystemExit(f"There is no folder {path.parent}: run this from the top of the project, or name "
                         "a file.")
    path.write_text(json.dumps(oil_flow_report(), indent=1) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    print(write_report(*sys.argv[1:2]))
