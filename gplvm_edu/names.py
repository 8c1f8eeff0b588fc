"""Where a name lives that somebody looked for in `gplvm_edu` itself: in another module, or nearly so.

The sources are read, not imported: `plotting` needs matplotlib, and a question should not load it.
"""

import ast
import difflib
import inspect
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
ROOT = __package__


def missing(name):
    """The ``__getattr__`` of the package, which Python asks for what the package does not have: always an error.

    An AttributeError with advice, so that ``hasattr`` stays False. ``from gplvm_edu import RBF`` would put words of its
    own in the place of these; there, and only where there is advice, it is an ImportError.
    """
    if name.startswith("_") or is_module(name):  # a module is imported by whoever asks, if that is an import
        raise AttributeError(f"module {ROOT!r} has no attribute {name!r}" + _as_module(name))
    advice = advice_on(name)
    here = inspect.currentframe()  # None where the interpreter has no frames
    if advice and here and _is_from_import(here.f_back):
        raise ImportError(f"cannot import name {name!r} from {ROOT!r}. {advice}", name=ROOT, path=str(PACKAGE))
    raise AttributeError(f"module {ROOT!r} has no attribute {name!r}. {advice}".strip())


def advice_on(name) -> str:
    """A sentence on where a name lives, else on the nearest ones; empty where none is near.

    Examples
    --------
    >>> advice_on("RBF"), advice_on("MDS"), advice_on("dummy")
    ('It lives in gplvm_edu.kernels: from gplvm_edu.kernels import RBF.', 'Did you mean ClassicalMDS, ...?', '')
    """
    homes = homes_of_names()
    if name in homes:
        return f"It lives in {homes[name]}: from {homes[name]} import {name}."
    own = [known for known, home in homes.items() if home == ROOT]
    parts = [known for known in own if len(name) > 2 and name.lower() in known.lower()]
    near = parts or nearest(name, own, 0.6) or nearest(name, homes, 0.75)
    if not near:
        return ""
    where = "" if homes[near[0]] == ROOT else f" It lives in {homes[near[0]]}."
    return f"Did you mean {' or '.join(filter(None, [', '.join(near[:-1]), near[-1]]))}?{where}"


def nearest(name, names, alike) -> list[str]:
    """The name that is most like another one, upper or lower case, in a list; none if all are less alike than this.

    Examples
    --------
    >>> nearest("TSNEGPLVM", ["GPLVM", "TSNE", "TSNEPriorGPLVM"], 0.6), nearest("ridge", ["GPLVM"], 0.6)
    (['TSNEPriorGPLVM'], [])
    """
    spellings = {known.lower(): known for known in names}
    return [spellings[one] for one in difflib.get_close_matches(name.lower(), spellings, n=1, cutoff=alike)]


@cache
def homes_of_names() -> dict[str, str]:
    """{name: module} of all public names, those of the package first; of two modules the first in the alphabet."""
    homes = dict.fromkeys(public_names(PACKAGE / "__init__.py"), ROOT)
    for module in sorted(PACKAGE.iterdir()):
        source = module / "__init__.py" if module.is_dir() else module
        if source.suffix == ".py" and source.is_file() and is_module(module.stem):
            for name in public_names(source):
                homes.setdefault(name, f"{ROOT}.{module.stem}")
    return homes


def public_names(source) -> list[str]:
    """What a file offers: its ``__all__``, else the functions and classes without an underscore that it defines."""
    statements = ast.parse(source.read_text(encoding="utf-8")).body
    for statement in statements:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    made = [one.name for one in statements if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    return [name for name in made if not name.startswith("_")]


def is_module(name) -> bool:
    """Whether the package has a module of this name, imported or not."""
    return name.isidentifier() and ((PACKAGE / f"{name}.py").is_file() or (PACKAGE / name / "__init__.py").is_file())


def _as_module(name):
    return f". It is a module: import {ROOT}.{name}." if is_module(name) else ""


def _is_from_import(frame):
    """Whether the one who asks is the import system, on behalf of ``from package import name``."""
    return frame.f_code.co_name == "_handle_fromlist" and frame.f_globals.get("__name__") == "importlib._bootstrap"
