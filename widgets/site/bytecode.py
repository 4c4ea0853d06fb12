"""Sources to bytecode, so that no reader's browser spends seconds on compiling Panel.

Only the Python that will read it can write it: this one where it has the browser's version, else
Pyodide itself under Node, which imports this file too. It needs the standard library alone.
"""

import importlib.util
import io
import marshal
import zipfile

OWN = ("core/", "widgets/")
# Of other packages docstrings are left out, which are a third of the size.
_AS_IT_IS, _WITHOUT_DOCSTRINGS = 0, 2
_UNCHECKED_HASH = 0b01


def compile_zip(sources: bytes) -> bytes:
    """The same zip with a `.pyc` in the place of each `.py`."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(sources)) as read,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as written,
    ):
        for entry in read.infolist():
            content = read.read(entry)
            name = entry.filename
            if name.endswith(".py"):
                name, content = name + "c", _compiled(name, content)
            made = zipfile.ZipInfo(name, entry.date_time)
            made.compress_type = zipfile.ZIP_DEFLATED
            written.writestr(made, content)
    return buffer.getvalue()


def _compiled(name: str, source: bytes) -> bytes:
    optimize = _AS_IT_IS if name.startswith(OWN) else _WITHOUT_DOCSTRINGS
    code = compile(source, f"/app/{name}", "exec", dont_inherit=True, optimize=optimize)
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH.to_bytes(4, "little")
    return head + importlib.util.source_hash(source) + marshal.dumps(code)
